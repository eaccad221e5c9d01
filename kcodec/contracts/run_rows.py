"""Payloads through the rules that run row by row."""

from collections.abc import Sequence
from typing import Any

from kcodec.contracts.keyring import Keyring, Session
from kcodec.contracts.row_rules import CODE, Refusal, RowRules


def run_rows(
    rules: RowRules, payloads: Sequence[bytes | None], ring: Keyring
) -> tuple[list[bytes | None], dict[int, Refusal]]:
    """Return what rules make of payloads, and why some are refused, by their position; these are None."""
    made: list[bytes | None] = []
    refused: dict[int, Refusal] = {}
    runner, session = _runner(rules), Session(ring)
    for at, payload in enumerate(payloads):
        if payload is None:
            found = None
        elif isinstance(runner, str):
            found = Refusal("", CODE, runner)
        else:
            found = runner.run(payload, session)
        if isinstance(found, Refusal):
            refused[at] = found
            found = None
        made.append(found)
    return made, refused


def _runner(rules: RowRules) -> Any:
    """Return what runs the rules; or why nothing does."""
    if rules.runner is None:
        try:
            # It takes confluent-kafka, which others need not have.
            from kcodec.contracts.runner import Runner
        except ImportError as error:
            return f"the rules of the schema need confluent-kafka: pip install 'kcodec[rules]' ({error})"
        try:
            # Of threads that come at once, each makes one, and one of these is kept.
            rules.runner = Runner(rules)
        except Exception as error:
            return f"the rules of the schema cannot run: {error}"
    return rules.runner
