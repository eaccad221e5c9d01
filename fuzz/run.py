"""Run one target until it fails or time is over:  python fuzz/run.py TARGET [libFuzzer options] [corpus folders]."""

import logging
import sys

import atheris


def main() -> None:
    """Set libFuzzer up with what stands on the command line."""
    sys.path.insert(0, str(__file__).rpartition("/")[0])
    import targets

    # A warning of every bad batch would be most of what a run prints.
    logging.getLogger("kcodec").setLevel(logging.ERROR)

    name, *arguments = sys.argv[1:]
    target = targets.target(name)
    # What is made at the first call, such as Hypothesis' tables of characters, is no slow input.
    target(bytes(range(256)) * 8)
    # Plain Python is not what is looked for, and instrumenting it costs most of the speed: the kernels are compiled so.
    atheris.Setup([sys.argv[0], *arguments], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
