"""Answers of a registry as consoles and notebooks show them."""

from kcodec.columns.shown import MOST_ROWS
from kcodec.registry import Compatibility, RegisteredSchema, Schema, open
from kcodec.registry.compatibility.levels import Difference

ATTACK = "\x1b]0;owned\x07<script>\u202e"


def check(value):
    """Nothing of what is shown is markup or commands, and it is one screen."""
    assert all(line.isprintable() for text in (repr(value), value._repr_html_()) for line in text.split("\n"))
    assert "<script>" not in value._repr_html_()
    assert len(repr(value).split("\n")) <= MOST_ROWS + 3
    assert len(value._repr_html_()) < 50_000


def test_a_verdict_is_a_table_of_differences():
    registry = open("memory://shown-verdict")
    registry.register("s", Schema('"int"'))
    answer = registry.check_compatibility("s", Schema('"string"'))
    assert repr(answer).split("\n")[0] == "Compatibility: not compatible"
    assert "TYPE_MISMATCH" in repr(answer).split("\n")[2]
    assert "<th>path</th>" in answer._repr_html_()
    assert repr(registry.check_compatibility("s", Schema('"int"'))) == "Compatibility: compatible"


def test_a_verdict_without_differences_has_the_servers_words():
    assert repr(Compatibility(False, (), ("no schema of AVRO",))).split("\n")[1:] == [
        "  message",
        "  no schema of AVRO",
    ]


def test_verdicts_of_strangers():
    check(Compatibility(False, (Difference(ATTACK, ATTACK, ATTACK * 100),) * 1000))
    check(Compatibility(False, (), (ATTACK,)))
    assert repr(Compatibility(False, (Difference("a", "b", "c"),) * 1000)).endswith(
        f"... and {1000 - MOST_ROWS} more"
    )


def test_registered_schemas():
    registered = open("memory://shown-schema").register("orders-value", Schema('"int"'))
    assert repr(registered) == (
        f"RegisteredSchema(id=1, subject='orders-value', version=1, guid='{registered.guid}', type='AVRO', "
        "text='\"int\"')"
    )
    assert "<td>orders-value</td><td>1</td>" in registered._repr_html_()
    assert "<pre>&quot;int&quot;</pre>" in registered._repr_html_()
    assert (
        repr(RegisteredSchema(None, "g", Schema("{}")))
        == "RegisteredSchema(guid='g', type='AVRO', text='{}')"
    )


def test_registered_schemas_of_strangers():
    check(RegisteredSchema(1, ATTACK, Schema(ATTACK * 10_000), ATTACK, 1))
