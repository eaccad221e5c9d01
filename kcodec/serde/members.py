"""Structs of several messages to framed values: each row writes the one message that is set."""

from dataclasses import replace
from typing import Any

import pyarrow as pa

from kcodec._lazy import compute as pc
from kcodec.codec import Run, Step
from kcodec.columns.arrays.given import arrays
from kcodec.columns.faults import nulled, refused
from kcodec.errors import ConfigError, EncodeError, Fault, SchemaError
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Writer
from kcodec.plan import Limits
from kcodec.serde.frames import Headers
from kcodec.serde.topic import Given, TopicSchemas
from kcodec.serde.write import FramedWriter


class MembersWriter:
    """What writes columns whose members are the messages of a topic, each as a column of that message alone.

    So each has the subject that its name asks for, and is registered once a row has it.
    """

    def __init__(self, topic: TopicSchemas, schema: Given | None, options: Any, limits: Limits) -> None:
        self._topic = topic
        self._whole = FramedWriter(topic, schema, options, limits)
        self._writers = {
            name: FramedWriter(replace(topic, format=language), schema, options, limits)
            for name, language in topic.format.members().items()
        }

    def write(self, array: Any, run: Run) -> tuple[Any, Headers]:
        """Write a column; there are no headers that name the schemas of all its rows."""
        if self._topic.config.header_out:
            raise ConfigError(
                "HeaderSchemaIdSerializer names one message, as any frame in a header; columns of several need prefixes"
            )
        listed = isinstance(array, (list, tuple))
        parts, chunked = run.parts(arrays(array, self._whole.given_type() if listed else None))
        steps: dict[int, Step] = {}
        writers = self._chosen(parts[0].type) if parts else []
        for at, writer in enumerate(writers):
            if any(pc.struct_field(part, [at]).null_count < len(part) for part in parts):
                if not steps:
                    _check_subjects(writers, parts[0].type)
                steps[at] = writer.step(parts[0].type.field(at).type)[0]
        kind = self._whole.encoded_type

        def step(chunk: pa.Array, stop: bool) -> tuple[pa.Array, list[Fault]]:
            return _encode(chunk, steps, kind, stop)

        text_ids = self._topic.frame.has_text_ids
        return run.result(step, parts, chunked, kind, EncodeError, text_ids=text_ids), ()

    def object_writer(self, form: ObjectForm, columns: Writer) -> None:
        """Return None: only columns are written."""

    def _chosen(self, kind: pa.DataType) -> list[FramedWriter]:
        """Return the writers of a struct's members, which are called as the messages are, packages left out or not."""
        if not pa.types.is_struct(kind):
            raise SchemaError(f"a column of several messages is a struct of them, not {kind}")
        return [self._writer(field.name) for field in kind]

    def _writer(self, member: str) -> FramedWriter:
        for name, writer in self._writers.items():
            if f".{member}".endswith(f".{name}"):
                return writer
        raise SchemaError(f"the member {member} is not one of the messages {', '.join(self._writers)}")


def _check_subjects(writers: list[FramedWriter], kind: pa.StructType) -> None:
    """Raise if schemas of several messages, derived one by one, would be versions of one subject."""
    seen: set[str] = set()
    for at, writer in enumerate(writers):
        subject = writer.derived_subject(kind.field(at).type)
        if subject is None:
            continue
        if subject in seen:
            raise ConfigError(
                f"several messages of {subject} need a schema that has them all: schema=, or use.latest.version; "
                "what is derived of columns has one message"
            )
        seen.add(subject)


def _encode(
    array: pa.Array, steps: dict[int, Step], kind: pa.DataType, stop: bool
) -> tuple[pa.Array, list[Fault]]:
    """Write an array, each message by its own writer; messages that no row has are not registered."""
    encoded = pa.nulls(len(array), kind)
    members = {at: pc.struct_field(array, [at]) for at in steps}
    count = pa.nulls(len(array), pa.int32()).fill_null(0)
    for member in members.values():
        count = pc.add(count, member.is_valid().cast(pa.int32()))
    wrong = pc.and_(array.is_valid(), pc.not_equal(count, 1))
    faults = refused(wrong, "union_members")
    without = {fault.row for fault in faults}
    for at, write in steps.items():
        values, found = write(members[at], False)
        name = array.type.field(at).name
        faults += [
            fault._replace(path=f"{name}.{fault.path}" if fault.path else name)
            for fault in found
            if fault.row not in without
        ]
        encoded = pc.coalesce(encoded, values)
    faults.sort(key=lambda fault: fault.row)
    if stop and faults:
        return encoded, faults[:1]
    return nulled(encoded, wrong), faults
