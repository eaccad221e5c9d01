"""The exception tree, and the stable codes by which errors of a row are told apart.

This module imports nothing of the package; every layer may raise what it defines.
"""

import difflib
import re
from collections.abc import Collection, Iterable
from types import UnionType
from typing import NamedTuple, TypeGuard

#: A word that is no schema of any language.
_FILE_NAME = re.compile(r"""[^\s{}"']{1,500}\.(avsc|avro|json|proto|desc|txt)""", re.IGNORECASE)

#: Characters of a message that quotes what may be of any length, and those at its ends that are kept if it is longer.
_MOST_TOLD, _FIRST_TOLD, _LAST_TOLD = 1600, 1000, 500

#: What can be wrong with one row: code -> the sentence shown as its reason. Codes are stable: new ones may be
#: added, none is renamed or given another meaning. The order is that of the C enum in ``wire/binary/status.pxd``.
CODES: dict[str, str] = {
    "truncated": "the input ends inside this value",
    "varint_overlong": "the varint has more bytes than its type allows",
    "varint_overflow": "the varint has bits beyond its type",
    "negative_length": "a length is negative",
    "invalid_boolean": "a boolean is neither 0 nor 1",
    "invalid_utf8": "the text is not valid UTF-8",
    "enum_index": "the enum index is not that of a symbol",
    "union_index": "the union index is not that of a branch",
    "block_count": "the count of a block is out of range",
    "block_size": "the byte size of a block disagrees with its items",
    "trailing_bytes": "bytes are left after the value",
    "decimal_precision": "the decimal has more digits than its declared precision",
    "out_of_range": "the value is outside the range of its type",
    "unresolvable": "the writer's value cannot be read as the reader's type",
    "depth_limit": "values are nested deeper than max_depth",
    "size_limit": "the value expands to more than the limits allow",
    "frame_truncated": "the frame is shorter than its header",
    "frame_magic": "the first byte is not a known magic byte",
    "unknown_schema_id": "the registry has no schema of this id",
    "schema_error": "the schema of this id cannot be used here",
    "null_value": "a null stands where the schema has no null",
    "type_mismatch": "the Arrow type cannot be written as the schema's type",
    "inexact": "the type does not hold the value without loss",
    "unknown_symbol": "the text is not a symbol of the enum",
    "fixed_size": "the length is not the size of the fixed",
    "union_members": "not exactly one member of the union is set",
    "duplicate_key": "an object or a map holds a key twice",
    "json_syntax": "the text is not valid JSON",
    "json_type": "the JSON value is not of the wanted type",
    "missing_key": "a required key is missing",
    "number_length": "the number has more characters than the limits allow",
    "invalid_number": "the text is not a number",
    "invalid_base64": "the text is not Base64",
    "lone_surrogate": "an escaped surrogate is not half of a pair",
    "invalid_time": "the text is not a date or time of ISO 8601",
    "string_length": "the text is longer than 32767 bytes",
    "invalid_marker": "the marker of a nullable struct says neither null nor present",
    "tag_order": "the tags of a struct are not in ascending order",
    "tag_size": "the size of a tagged field disagrees with its value",
    "invalid_tag": "the tag is not one that may stand here",
    "non_default": "a field that this version does not have is set",
    "unsupported_version": "the version is not one that can be read here",
    "invalid_batch": "the header of a record batch is not valid",
    "crc_mismatch": "the checksum of a record batch is not that of its bytes",
    "compression": "the compressed data is damaged, or its codec is not one of Kafka's",
    "registry_error": "the registry could not be asked for the schema of this id",
    "delimited_syntax": "the text is not a record of delimited text",
    "column_count": "the record does not have one cell for each column",
    "missing_required": "a required field is not set",
    "unknown_field": "the message has no field of this name",
    "schema_violation": "the document is not valid by its schema",
    "logical_type": "the writer's logical type means something else than the reader's",
    "empty_decimal": "the decimal has no bytes",
    "encryption": "the value cannot be encrypted or decrypted",
    "rule": "a rule of the schema refuses the value",
}


class Fault(NamedTuple):
    """What was wrong with one row."""

    #: Row number in the column given to the call.
    row: int
    #: Byte position in the row's value, counted from its first byte, frame included; None when encoding.
    offset: int | None
    #: Where in the value, such as ``items[2].sku``; empty at the root.
    path: str
    #: A key of `CODES`.
    code: str
    #: One sentence.
    reason: str
    #: The schema id of the row's frame, where it has one; a text where ids are GUIDs or fingerprints.
    schema_id: int | str | None = None


class KcodecError(Exception):
    """Base of every error that kcodec raises on purpose.

    Examples
    --------
    >>> from kcodec import AvroCodec
    >>> try:
    ...     AvroCodec('"integer"')
    ... except KcodecError as error:
    ...     print(type(error).__name__)
    SchemaError
    """


class SchemaError(KcodecError, ValueError):
    """A schema that cannot be parsed, resolved or mapped to Arrow.

    Examples
    --------
    >>> from kcodec import AvroCodec
    >>> AvroCodec('{"type": "integer"}')
    Traceback (most recent call last):
    kcodec.errors.SchemaError: $.type: integer is not defined
    """

    def __init__(self, message: object, *facts: object) -> None:
        # Schemas come from registries, and are quoted. ksqlDB's messages have lines, Connect's quote tabs as they are.
        super().__init__(_printable(_shortened(message), "\n\t"), *facts)


class ArrayError(KcodecError, ValueError):
    """An Arrow array whose memory is not what its type says: offsets out of order, views outside of their buffers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kcodec import AvroCodec
    >>> offsets = pa.py_buffer(bytes([0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 6, 0, 0, 0]))
    >>> AvroCodec('"int"').decode(pa.Array.from_buffers(pa.binary(), 3, [None, offsets, pa.py_buffer(b"7 bytes")]))
    Traceback (most recent call last):
    kcodec.errors.ArrayError: an array of binary: offsets are not in order
    """


class CapacityError(KcodecError, OverflowError):
    """More data in one column than its offsets can address, or than memory holds.

    Examples
    --------
    >>> issubclass(CapacityError, OverflowError)
    True
    """


class ConfigError(KcodecError, ValueError):
    """A setting that is unknown, has an invalid value, or contradicts another.

    Examples
    --------
    >>> from kcodec import AvroCodec
    >>> AvroCodec('"int"').decode([bytes([2])], errors="ignore")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: errors='ignore' is not one of raise, null, report
    """


def check_booleans(**options: object) -> None:
    """Refuse options that are neither True nor False: text such as ``"false"`` would be true.

    >>> check_booleans(large="false")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: large='false' is not True or False
    """
    for name, value in options.items():
        if not isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} is not True or False")


def check_choice(name: str, value: object, choices: Collection[str | None]) -> None:
    """Refuse an option that is none of its choices.

    >>> check_choice("errors", "ignore", ("raise", "null", "report"))
    Traceback (most recent call last):
    kcodec.errors.ConfigError: errors='ignore' is not one of raise, null, report
    """
    # What is no key of a dictionary, such as a list, may be looked for among its keys all the same.
    if value not in tuple(choices):
        raise ConfigError(f"{name}={value!r} is not one of {', '.join(map(str, choices))}")


def check_functions(**options: object) -> None:
    """Refuse options that are neither functions nor None.

    >>> check_functions(progress="yes")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: progress='yes' is not a function
    """
    for name, value in options.items():
        if value is not None and not callable(value):
            raise ConfigError(f"{name}={one_line(repr(value))} is not a function")


def check_kind(kind: type | UnionType, what: str, /, **arguments: object) -> None:
    """Refuse arguments that are of another kind.

    >>> check_kind(str, "text", path=None)
    Traceback (most recent call last):
    kcodec.errors.ConfigError: path=None is not text
    """
    for name, value in arguments.items():
        if not isinstance(value, kind):
            raise ConfigError(f"{name}={one_line(repr(value))} is not {what}")


def check_names(**options: object) -> None:
    """Refuse options that are neither text nor None.

    >>> check_names(topic=["orders"])
    Traceback (most recent call last):
    kcodec.errors.ConfigError: topic=['orders'] is not text
    """
    for name, value in options.items():
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{name}={value!r} is not text")


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; True and False would be 1 and 0.

    >>> is_whole(1), is_whole(True), is_whole(1.0)
    (True, False, False)
    """
    return isinstance(value, int) and not isinstance(value, bool)


def one_line(text: object, limit: int = 400) -> str:
    r"""Return a text as one line of bounded length, whatever it is: a page, a document, control characters.

    >>> one_line("<html>\n  <body>\x1b[31mno")
    '<html> <body>\\x1b[31mno'
    >>> one_line("x" * 100_000, 10)
    'xxxxxxxxxx... (100000 characters)'
    """
    whole = str(text)
    line = _printable(" ".join(whole[: 4 * limit].split()))
    if len(whole) <= 4 * limit and len(line) <= limit:
        return line
    return f"{line[:limit]}... ({len(whole)} characters)"


def _printable(text: str, kept: str = "") -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def _shortened(message: object) -> str:
    """Return a message without the middle of a very long one: what is wrong often stands at its end.

    >>> len(_shortened("name '" + "x" * 100_000 + "' is not defined"))
    1527
    """
    whole = str(message)
    if len(whole) <= _MOST_TOLD:
        return whole
    return f"{whole[:_FIRST_TOLD]}... ({len(whole)} characters) ...{whole[-_LAST_TOLD:]}"


def refuse_file(text: str) -> None:
    """Raise `SchemaError` if what should be the text of a schema is the name of a file.

    >>> refuse_file("schemas/order.avsc")
    Traceback (most recent call last):
    kcodec.errors.SchemaError: 'schemas/order.avsc' is the name of a file: give the text that is in it
    """
    if _FILE_NAME.fullmatch(text):
        raise SchemaError(f"{text!r} is the name of a file: give the text that is in it")


def near(name: str, known: Iterable[str]) -> str:
    """Return what an error adds where a name is not known and another is close; nothing if none is.

    >>> near("ID", ["id", "name"]), near("total", ["id", "name"])
    (": did you mean 'id'?", '')
    """
    # Comparing takes time that grows with the square of names, which may be of any length.
    names = {each.casefold(): each for each in known if len(each) <= 100}
    if name.casefold() in names:
        return f": did you mean {names[name.casefold()]!r}?"
    if len(name) > 100 or len(names) > 1000:
        return ""
    found = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.6)
    return f": did you mean {names[found[0]]!r}?" if found else ""


class RegistryError(KcodecError, LookupError):
    """A registry that refused, failed, or does not have what was asked for.

    Parameters
    ----------
    message : str
        What went wrong.
    status : int, optional
        The HTTP status, as the real server would answer.
    error_code : int, optional
        The registry's own code, such as 40403.

    Attributes
    ----------
    details : str
        All that the registry says, which the text of the error has on one line and shortened: of a refused version
        (409) everything that is incompatible.

    Examples
    --------
    >>> from kcodec import registry
    >>> try:
    ...     registry.open("memory://registry-error").get(7)
    ... except RegistryError as error:
    ...     print(error, error.status, error.error_code)
    Schema 7 not found 404 40403
    """

    def __init__(self, message: str, status: int | None = None, error_code: int | None = None) -> None:
        super().__init__(message, status, error_code)
        self.message = message
        self.status = status
        self.error_code = error_code
        self.details = message

    def __str__(self) -> str:
        return self.message

    def hinted(self, hint: str) -> "RegistryError":
        """Return the same error with a text that also says what to do.

        Examples
        --------
        >>> RegistryError("Subject 'a' not found.", 404, 40401).hinted("register one")
        RegistryError("Subject 'a' not found. (register one)", 404, 40401)
        """
        told = RegistryError(f"{self} ({hint})", self.status, self.error_code)
        told.details = self.details
        return told

    @property
    def missing(self) -> bool:
        """Whether a registry has answered that it does not have it: a code of 404 and two digits.

        A server that is no registry, or a path that is none of its paths, has no such code.
        """
        return self.error_code is not None and self.error_code // 100 == 404


class KafkaError(KcodecError, RuntimeError):
    """A broker that refused, failed, could not be reached, or answered with what is no answer.

    Parameters
    ----------
    message : str
        What went wrong; one line, of which the middle is left out if it is very long, for brokers are quoted in it.
    code : int, optional
        The broker's error code, such as 3.
    name : str, optional
        Its name, such as ``"UNKNOWN_TOPIC_OR_PARTITION"``.

    Examples
    --------
    >>> error = KafkaError("no topic 'order'", 3, "UNKNOWN_TOPIC_OR_PARTITION")
    >>> str(error), error.code
    ("no topic 'order'", 3)
    """

    def __init__(self, message: str, code: int | None = None, name: str | None = None) -> None:
        # Each character that is escaped becomes some more.
        message = one_line(_shortened(message), 10 * _MOST_TOLD)
        super().__init__(message, code, name)
        self.message = message
        self.code = code
        self.name = name

    def __str__(self) -> str:
        return self.message


class KafkaTimeoutError(KafkaError, TimeoutError):
    """Brokers that did not do within the time-out what they were asked for.

    Examples
    --------
    >>> issubclass(KafkaTimeoutError, TimeoutError)
    True
    """


class _RowError(KcodecError, ValueError):
    """An error of one row, with its facts as attributes."""

    def __init__(
        self,
        row: int,
        offset: int | None,
        path: str,
        code: str,
        reason: str,
        schema_id: int | str | None = None,
    ) -> None:
        super().__init__(row, offset, path, code, reason, schema_id)
        self.row = row
        self.offset = offset
        self.path = path
        self.code = code
        self.reason = reason
        self.schema_id = schema_id

    def _value(self) -> str:
        """Return which value it is, for texts."""
        return f"row {self.row}"

    def __str__(self) -> str:
        where = self._value()
        if self.offset is not None:
            where += f", byte {self.offset}"
        if self.path:
            where += f", {self.path}"
        if self.schema_id is not None:
            where += f", schema id {self.schema_id}"
        text = f"{self.code}: {where}: {self.reason}"
        return text if text.isprintable() else one_line(text, len(text))


class DecodeError(_RowError):
    """Bytes that are not what their schema or format says.

    Attributes
    ----------
    row : int
        Row number in the column given to the call.
    offset : int or None
        Byte position in the row's value, counted from its first byte, frame included.
    path : str
        Where in the value, such as ``items[2].sku``; empty at the root.
    code : str
        A key of `CODES`.
    reason : str
        One sentence.
    schema_id : int, str or None
        The schema id of the row's frame, where it has one; a text where ids are GUIDs or fingerprints.

    Examples
    --------
    >>> error = DecodeError(3, 1, "name", "truncated", CODES["truncated"])
    >>> str(error)
    'truncated: row 3, byte 1, name: the input ends inside this value'
    """


class EncodeError(_RowError):
    """A value that its schema or format cannot express.

    The attributes are those of `DecodeError`; there is no ``offset`` (None).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from kcodec import AvroCodec
    >>> try:
    ...     AvroCodec('"int"').encode(pa.array([1, 1 << 40]))
    ... except EncodeError as error:
    ...     print(error.row, error.code)
    1 out_of_range
    """
