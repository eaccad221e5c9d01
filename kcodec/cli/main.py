"""The console tool."""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout

from kcodec import __version__
from kcodec.cli import consume, dump_log, groups, produce, protocol, registry, topics
from kcodec.cli.kafka_options import shown_tries
from kcodec.cli.terminal import guarded, take_all_text
from kcodec.errors import ConfigError, KcodecError

_ROWS = 200_000

#: The status that shells report of what SIGPIPE has ended; there is no message.
_BROKEN_PIPE = 128 + 13


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``kcodec`` with arguments, by default those of the process; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="kcodec", description="Columns of Kafka bytes to Arrow columns and back."
    )
    parser.add_argument("--version", action="version", version=f"kcodec {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_demo(commands)
    protocol.add(commands)
    dump_log.add(commands)
    consume.add(commands)
    produce.add(commands)
    topics.add(commands)
    groups.add(commands)
    registry.add(commands)
    given = parser.parse_args(arguments)
    if sys.stderr is None:
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            return _main(given)
    return _main(given)


def _main(given: argparse.Namespace) -> int:
    if sys.stdout is None:
        print(f"kcodec {given.command}: the standard output is closed", file=sys.stderr)
        return 2
    # The demo shows its own text, in colours.
    if given.command == "demo":
        return _run(given)
    take_all_text(sys.stdout)
    # Errors quote foreign text as Python does, with escapes of its own.
    errors = guarded(sys.stderr, tells_backslashes=False)
    with redirect_stdout(guarded(sys.stdout)), redirect_stderr(errors):
        return _run(given)


def _run(given: argparse.Namespace) -> int:
    try:
        with shown_tries(given.command):
            status: int = given.run(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed its end: what is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except (KcodecError, OSError) as error:
        print(f"kcodec {given.command}: {error}", file=sys.stderr)
        return 2
    return status


def _add_demo(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    demo = commands.add_parser(
        "demo",
        help="write, read and check orders in plain Python, classic Spark and Spark Connect",
        description="Registers three versions of an order schema in an embedded registry, writes framed "
        "values whose schemas alternate, some of them damaged, decodes them in plain Python, in a classic "
        "Spark session and through Spark Connect, and encodes them back to the same bytes. With --kafka and "
        "--registry the values are produced to a topic of a broker and consumed again, and the schemas are "
        "in your registry. Nothing is left behind.",
    )
    demo.add_argument("--rows", type=_rows, default=_ROWS, help="orders to write (default %(default)s)")
    demo.add_argument("--no-spark", dest="spark", action="store_false", help="only the plain Python part")
    demo.add_argument("--kafka", metavar="HOST:PORT", help="a Kafka broker; needs --registry too")
    demo.add_argument("--registry", metavar="URL", help="a schema registry; needs --kafka too")
    demo.set_defaults(run=_demo)


def _demo(given: argparse.Namespace) -> int:
    try:
        from kcodec.demo.run import run
    except ModuleNotFoundError as error:
        print(f"kcodec demo needs {error.name}: pip install 'kcodec[demo]'", file=sys.stderr)
        return 2
    if (given.kafka is None) != (given.registry is None):
        raise ConfigError("--kafka and --registry are given together")
    services = None if given.kafka is None else (given.kafka, given.registry)
    try:
        return run(given.rows, given.spark, services=services)
    except ModuleNotFoundError as error:
        if services is None:
            raise
        print(f"kcodec demo --kafka needs {error.name}: pip install 'kcodec[demo]'", file=sys.stderr)
        return 2


def _rows(text: str) -> int:
    max_rows = 5_000_000  # the values of one column stay below 2 GiB
    try:
        rows = int(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 1 <= rows <= max_rows:
        raise argparse.ArgumentTypeError(f"{rows:,} is not within 1 and {max_rows:,}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
