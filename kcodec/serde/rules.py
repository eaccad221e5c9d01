"""Which rules run row by row: of the schema that is written, of the one that is read, of the versions between."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from kcodec.contracts.row_rules import RowRules, ValueShape
from kcodec.contracts.rules import Contract, Phase, phase
from kcodec.errors import RegistryError, SchemaError
from kcodec.registry.base import RegisteredSchema, Schema
from kcodec.serde.topic import SchemaTexts, TopicSchemas


def writing_rules(
    topic: TopicSchemas, contract: Contract, texts: SchemaTexts, indexes: tuple[int, ...]
) -> RowRules:
    """Return what the rules do when values are written with a schema, given by its texts and its message."""
    schema, settings = contract.schema, topic.config.rules
    shape = ValueShape(*texts, indexes)
    domain = phase(schema.rules, "domain", "WRITE", schema, settings)
    return RowRules(
        topic.format,
        contract.subject,
        shape,
        shape,
        phases=() if domain is None else (domain,),
        closing=phase(schema.rules, "encoding", "WRITE", schema, settings),
    )


def reading_rules(
    topic: TopicSchemas,
    contract: Contract,
    written: Schema,
    indexes: tuple[int, ...],
    changes: tuple[Phase, ...],
) -> RowRules:
    """Return what the rules do with what is read.

    The contract is that of the schema whose values the rules make. `written` is what the values were written with,
    which also says how payloads are opened, and `indexes` the message of that schema, if its format has several;
    `changes` are the migrations from the one to the other.
    """
    schema, settings = contract.schema, topic.config.rules
    given, made = topic.texts(written), topic.texts(schema)
    domain = phase(schema.rules, "domain", "READ", schema, settings)
    return RowRules(
        topic.format,
        contract.subject,
        ValueShape(*given, indexes),
        ValueShape(*made, _same_message(topic, given, made, indexes)),
        phase(written.rules, "encoding", "READ", written, settings),
        changes if domain is None else (*changes, domain),
    )


def _same_message(
    topic: TopicSchemas, given: SchemaTexts, made: SchemaTexts, indexes: tuple[int, ...]
) -> tuple[int, ...]:
    """Return where another version of a schema has a message of the same name; its first one, if it has none."""
    if not topic.format.message_indexes or given == made:
        return indexes
    with suppress(SchemaError):
        name = topic.format.message_name(topic.parsed(given), indexes)
        return topic.format.message_path(topic.parsed(made), name)
    return (0,)


def migrations(topic: TopicSchemas, written: RegisteredSchema, asked: RegisteredSchema) -> tuple[Phase, ...]:
    """Return the migrations from the version that values were written with to the one that is asked for.

    Each version has the rules that lead to it from the one before, and back.
    """
    if asked.version is None or asked.subject is None or written.id == asked.id:
        return ()
    try:
        found = topic.registry.lookup(asked.subject, written.schema, deleted=True)
    except RegistryError as error:
        if not error.missing:
            raise
        # A schema of another subject has no versions between.
        return ()
    if found.version is None or found.version == asked.version:
        return ()
    made = []
    is_upgrade = found.version < asked.version
    first, last = (found, asked) if is_upgrade else (asked, found)
    versions = list(_between(topic, first, last))
    for before, after in pairwise(versions):
        mode = "UPGRADE" if is_upgrade else "DOWNGRADE"
        source, target = (before, after) if is_upgrade else (after, before)
        step = phase(after.rules, "migration", mode, target, topic.config.rules, source)
        if step is not None:
            made.append(step)
    return tuple(made if is_upgrade else reversed(made))


def _between(topic: TopicSchemas, first: RegisteredSchema, last: RegisteredSchema) -> Iterator[Schema]:
    """Yield the versions of a subject from one to another; one that is gone for good is passed over."""
    assert first.version is not None
    assert last.version is not None
    assert last.subject is not None
    yield first.schema
    for number in range(first.version + 1, last.version):
        try:
            yield topic.registry.get_version(last.subject, number, deleted=True).schema
        except RegistryError as error:
            if not error.missing:
                raise
    yield last.schema
