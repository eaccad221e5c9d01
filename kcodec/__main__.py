"""``python -m kcodec`` is the console tool, where its script is not on the path."""

import sys

from kcodec.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
