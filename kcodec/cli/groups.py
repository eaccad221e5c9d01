"""``kcodec groups``: groups of consumers, their lag, their members, and their offsets set anew."""

import argparse
import sys
from typing import Any

from kcodec.cli.kafka_options import KafkaOptions, add_options
from kcodec.errors import ConfigError


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to those of the console tool."""
    groups = commands.add_parser(
        "groups",
        help="list groups of consumers: lag, members; set their offsets",
        description="Lists groups of consumers; of one group, how far it is in each partition.",
        epilog="kcodec groups totals --reset earliest --topic orders --dry-run tells what would be set; without "
        "--dry-run it is.",
    )
    groups.add_argument("group", nargs="?", metavar="GROUP", help="by default all")
    add_options(groups)
    groups.add_argument("--members", action="store_true", help="the members of the group")
    groups.add_argument(
        "--reset", metavar="WHERE", help="set the group's offsets: earliest, latest, -N (records before the end), a "
        "time, or offsets as JSON; the group must have no members",
    )  # fmt: skip
    groups.add_argument(
        "--topic", action="append", metavar="NAME", help="with --reset: of which topics; may be repeated"
    )
    groups.add_argument("--dry-run", action="store_true", help="with --reset: tell, and set nothing")
    groups.add_argument(
        "-o", "--format", choices=("table", "json", "csv"), help="by default a table on a terminal, else json"
    )
    groups.set_defaults(run=_run)


def _run(given: argparse.Namespace) -> int:
    from kcodec.cli.record_output import print_table

    found = _found(given, KafkaOptions(given).config)
    if given.group is not None and given.reset is None and not found.num_rows:
        what = "members" if given.members else "offsets"
        print(
            f"kcodec groups: {given.group!r} has no {what}; without a name all groups are listed",
            file=sys.stderr,
        )
    print_table(found, given.format)
    return 0


def _found(given: argparse.Namespace, config: Any) -> Any:
    from kcodec.cli.kafka_options import read_where
    from kcodec.kafka.groups.group_list import group_lag, group_members, list_groups, reset_offsets

    if given.reset is None and (given.topic or given.dry_run):
        raise ConfigError("--topic and --dry-run are for --reset")
    if given.group is None:
        if given.members or given.reset is not None:
            raise ConfigError("--members and --reset are for one group: kcodec groups GROUP ...")
        return list_groups(config=config)
    if given.reset is not None:
        if given.members:
            raise ConfigError("--members and --reset are given together")
        if not given.topic:
            raise ConfigError("--reset needs --topic NAME")
        start = read_where(given.reset, "--reset")
        return reset_offsets(given.group, given.topic, start, dry_run=given.dry_run, config=config)
    return (group_members if given.members else group_lag)(given.group, config=config)
