"""A .proto file without extensions: for readers that know none."""

from __future__ import annotations

from dataclasses import replace

from kcodec.formats.protobuf.syntax import Enum, Field, File, Message, Oneof, Option

__all__ = ["plain_options", "without_extensions"]

#: Options of Confluent's own, which every reader knows.
_META = ("(confluent.", "(.confluent.")


def without_extensions(file: File) -> File:
    """Return a file without declared extensions, ranges for them, and options that are extensions.

    Examples
    --------
    >>> from kcodec.formats.protobuf.parse import parse
    >>> from kcodec.formats.protobuf.text import print_file
    >>> text = "message M { extensions 5 to 9; option (o) = 1; } extend M { optional int32 a = 5; }"
    >>> print(print_file(without_extensions(parse(text))))
    <BLANKLINE>
    message M {}
    <BLANKLINE>
    """
    return replace(
        file,
        options=plain_options(file.options),
        messages=[_message(each) for each in file.messages],
        enums=[_enum(each) for each in file.enums],
        extends=[],
        services=[
            replace(
                each,
                options=plain_options(each.options),
                rpcs=[replace(rpc, options=plain_options(rpc.options)) for rpc in each.rpcs],
            )
            for each in file.services
        ],
    )


def plain_options(options: list[Option]) -> list[Option]:
    """Return the options that are no extensions, or Confluent's own."""
    return [each for each in options if not each.name[0].startswith("(") or each.name[0].startswith(_META)]


def _enum(enum: Enum) -> Enum:
    values = [replace(each, options=plain_options(each.options)) for each in enum.values]
    return replace(enum, values=values, options=plain_options(enum.options))


def _message(message: Message) -> Message:
    # Fields know their oneof by identity.
    oneofs = {id(each): replace(each, options=plain_options(each.options)) for each in message.oneofs}
    return replace(
        message,
        fields=[_field(each, oneofs) for each in message.fields],
        oneofs=list(oneofs.values()),
        messages=[_message(each) for each in message.messages],
        enums=[_enum(each) for each in message.enums],
        extends=[],
        extensions=[],
        options=plain_options(message.options),
    )


def _field(field: Field, oneofs: dict[int, Oneof]) -> Field:
    group = None if field.group is None else _message(field.group)
    oneof = None if field.oneof is None else oneofs.get(id(field.oneof), field.oneof)
    return replace(field, options=plain_options(field.options), group=group, oneof=oneof)
