"""``kcodec dump-log``: what the files of a partition hold."""

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from kcodec._files import check_apart, check_end
from kcodec.cli.terminal import json_stream
from kcodec.errors import ConfigError, DecodeError

if TYPE_CHECKING:
    from kcodec.protocol.batch.dump_log import Dump

_TOPICS = {
    "offsets-decoder": "__consumer_offsets",
    "transaction-log-decoder": "__transaction_state",
    "cluster-metadata-decoder": "__cluster_metadata",
    "share-group-state-decoder": "__share_group_state",
}
#: Topics whose records are not known without definitions, and the jar that has these.
_DEFINED = {"__cluster_metadata": "kafka-metadata", "__share_group_state": "kafka-share-coordinator"}


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of the console tool."""
    dump = commands.add_parser(
        "dump-log",
        help="show what log segments, indexes, snapshots and checkpoints hold",
        description="Shows what the files of a partition hold (.log, .index, .timeindex, .txnindex, .snapshot, "
        ".checkpoint): as Kafka's own dump tool prints it, as a line of JSON for each batch or entry, or as Parquet.",
        epilog="Exit status: 0 if all is well, 1 if a file is damaged or an index does not fit its log, 2 if a file "
        "cannot be read.",
    )
    dump.add_argument("paths", type=Path, nargs="+", metavar="PATH", help="file of a partition's folder")
    dump.add_argument(
        "--format", choices=("text", "json", "parquet"), default="text", help="default %(default)s"
    )
    dump.add_argument(
        "--out", type=Path, metavar="FILE", help="by default the standard output; Parquet needs one"
    )
    dump.add_argument("--deep-iteration", action="store_true", help="show the records of batches, too")
    dump.add_argument(
        "--print-data-log", action="store_true", help="show the records with key and value, too"
    )
    decoders = dump.add_mutually_exclusive_group()
    for name, topic in _TOPICS.items():
        decoders.add_argument(
            f"--{name}", dest="topic", action="store_const", const=topic, help=f"show the records of {topic}"
        )
    dump.add_argument(
        "--definitions",
        metavar="PATH",
        help="Kafka's message definitions, a folder or archive; without them OffsetCommit, GroupMetadata and "
        "TransactionLog are known",
    )
    dump.add_argument(
        "--skip-record-metadata", action="store_true", help="show nothing but key and value of records"
    )
    dump.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.protocol import load
    from kcodec.protocol.batch.topic_text import TopicText

    text = None
    if given.topic is not None:
        if given.format != "text":
            raise ConfigError("decoders of topics are for the text form")
        if given.definitions is None and given.topic in _DEFINED:
            jar = _DEFINED[given.topic]
            raise ConfigError(
                f"{given.topic} needs --definitions: those of {jar}, a jar in the folder libs of Kafka"
            )
        definitions = None if given.definitions is None else load(given.definitions)
        text = TopicText(given.topic, definitions)
    if given.format == "parquet" and (given.out is None or len(given.paths) > 1):
        raise ConfigError("Parquet is written from one file to one that --out names")
    if given.out is not None:
        check_apart(given.out, given.paths)
    found = [(path, dump) for path in given.paths if (dump := _found(given, path, text)) is not None]
    status = 0 if len(found) == len(given.paths) else 2
    with ExitStack() as stack:
        out = sys.stdout
        # What the file holds is kept if there is nothing to write.
        if found and given.out is not None and given.format != "parquet":
            out = stack.enter_context(given.out.open("w", encoding="utf-8", errors="surrogateescape"))
        for path, dump in found:
            status = max(status, _write(given, path, dump, out))
    return status


def _found(given: argparse.Namespace, path: Path, topic: Any) -> "Dump | None":
    """Return what shows a file; if that cannot be read, print why and return None."""
    from kcodec.protocol.batch.dump_log import Dump

    try:
        check_end(path)
        if path.is_dir():
            raise ConfigError(f"{path}: Is a directory; its files are wanted, such as {path / '*.log'}")
        path.open("rb").close()
        return Dump(
            path,
            records=given.deep_iteration,
            contents=given.print_data_log or topic is not None,
            metadata=not given.skip_record_metadata,
            topic=topic,
        )
    except (ConfigError, OSError) as error:
        print(f"kcodec dump-log: {error}", file=sys.stderr)
        return None


def _write(given: argparse.Namespace, path: Path, dump: "Dump", out: TextIO) -> int:
    """Show one file, print what is wrong with it, and return the status."""
    status = 0
    try:
        if given.format == "parquet":
            dump.parquet(given.out)
        elif given.format == "json":
            dump.json(json_stream(out))
        else:
            dump.text(out)
    except DecodeError as error:
        dump.problems.append(f"{path}: {error}")
    except ConfigError as error:
        print(f"kcodec dump-log: {error}", file=sys.stderr)
        status = 2
    out.flush()
    for problem in dump.problems:
        print(problem, file=sys.stderr)
    return max(status, 1 if dump.problems else 0)
