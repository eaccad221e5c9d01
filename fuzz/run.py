"""Run one target until it fails or time is over:  python fuzz/run.py TARGET [libFuzzer options] [corpus folders]."""

import sys

import atheris


def main() -> None:
    """Set libFuzzer up with what stands on the command line."""
    sys.path.insert(0, str(__file__).rpartition("/")[0])
    import targets

    name, *arguments = sys.argv[1:]
    # Plain Python is not what is looked for, and instrumenting it costs most of the speed: the kernels are compiled so.
    atheris.Setup([sys.argv[0], *arguments], targets.target(name))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
