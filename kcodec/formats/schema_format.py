"""The seam between schema languages and those who store, frame and serve their schemas.

Registry, serde and Spark functions know Avro, and every other schema language, as a `SchemaFormat`. The package's own
are in a table here, others are found by the entry points of the group `GROUP`.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kcodec.errors import ConfigError, DecodeError, Fault, SchemaError, near
from kcodec.formats.table import FORMATS, load
from kcodec.formats.tagged import TaggedField

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    # A registry needs no Arrow.
    import pyarrow as pa

    from kcodec.objects.form import ObjectForm
    from kcodec.objects.kernel import Reader, Writer
    from kcodec.plan import Limits

__all__ = [
    "GROUP",
    "Difference",
    "NamedText",
    "SchemaDecoder",
    "SchemaEncoder",
    "SchemaFormat",
    "find_schema_format",
    "flag",
    "schema_format",
    "schema_types",
    "serde_format",
]

#: Entry points of this group are schema formats: their name is a schema type or a serde's format.
GROUP = "kcodec.schema_formats"

#: The package's own, by schema type and by the serde's format; a package shipped as a zip has no entry points.
_BUILT_IN = {
    key: each.language
    for each in FORMATS.values()
    if each.language is not None and each.type is not None
    for key in (each.type, each.name)
}


class NamedText(NamedTuple):
    """A schema that another one refers to.

    Attributes
    ----------
    name : str
        What it is called there: an Avro full name, a Protobuf import path, a JSON Schema ``$ref``.
    text : str
        Its text.
    place : tuple of (str, int) or None
        Subject and version under which a registry has it; None for what only others refer to.
    """

    name: str
    text: str
    place: tuple[str, int] | None = None


class Difference(NamedTuple):
    """Why a reader's schema cannot read what was written with another.

    Attributes
    ----------
    type : str
        Which rule it breaks, under the name that the language's reference implementation has for it.
    path : str
        Where in the schema.
    message : str
        Its facts.

    Examples
    --------
    >>> Difference("TYPE_MISMATCH", "/fields/0/type", "reader type: STRING not compatible with writer type: INT").type
    'TYPE_MISMATCH'
    """

    type: str
    path: str
    message: str


class SchemaDecoder(ABC):
    """A reader's schema with its columns fixed, for payloads of any number of writers' schemas.

    Attributes
    ----------
    text : str
        Text of the schema that payloads are read as.
    arrow_type : pyarrow.DataType
        Type of the decoded columns, the same for every writer.
    takes_prefix : bool
        Whether `decode` also takes what all values start with, where they are read by one program.
    """

    text: str
    arrow_type: pa.DataType
    takes_prefix = False

    @abstractmethod
    def program(self, writer: Any, indexes: tuple[int, ...] = ()) -> Any:
        """Return what decodes the payloads of one writer's schema; it pickles, and is not None.

        Parameters
        ----------
        writer : object
            A parsed schema.
        indexes : tuple of int
            The message indexes of the payloads, if the format has any.

        Raises
        ------
        SchemaError
            If nothing that was written with it can be read.
        """

    @abstractmethod
    def decode(
        self, values: pa.Array, programs: Sequence[Any], *, selector: Any, starts: Any, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        """Decode one array of framed values.

        Parameters
        ----------
        values : pyarrow.Array
            Binary or string of any layout.
        programs : sequence
            Programs, or None for those that no row is to be read with.
        selector : buffer of int32
            Per row an index into `programs`; negative where the row is null in the result. None, for the first one,
            with a prefix.
        starts : buffer of int32 or None; bytes
            Per row the byte at which the payload starts; None where that is 0. Or the prefix, which is checked:
            `kcodec.plan.failure.OtherPrefix` is raised where a row does not start with it.
        stop : bool
            Whether to stop at the first row that cannot be decoded.

        Returns
        -------
        tuple
            An array of `arrow_type`, and the rows that cannot be decoded, in order.
        """

    def object_reader(self, program: Any, form: ObjectForm) -> Reader | None:
        """Return what reads the payloads of a program as Python objects; None if only columns are read."""
        return None


class SchemaEncoder(ABC):
    """A schema that columns of any fitting Arrow type are written with."""

    #: Which message of the schema's text is written, if the format has message indexes.
    indexes: tuple[int, ...] = ()

    #: Whether `encode` looks at the offsets of arrays itself, as kernels do; else its caller does.
    checks_offsets = False

    @abstractmethod
    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, list[Fault]]:
        """Encode one array.

        Parameters
        ----------
        array : pyarrow.Array
            What to write.
        prefix : bytes
            What each payload begins with.
        large : bool
            Whether the result has 64-bit offsets.
        stop : bool
            Whether to stop at the first row that cannot be encoded.

        Returns
        -------
        tuple
            An array of binary, and the rows that cannot be encoded, in order.
        """

    def object_writer(self, form: ObjectForm) -> Writer | None:
        """Return what writes Python objects as payloads; None if only columns are written."""
        return None


class SchemaFormat(ABC):
    """A schema language: its texts, and the codecs of its schemas.

    What `parse` returns is known to the format alone; others hand it back to the methods of the same format. An
    instance is never changed, pickles, and may be used by several threads at once.

    Attributes
    ----------
    type : str
        The registry's schema type, such as ``"AVRO"``.
    name : str
        The serde's format; often the same.
    message_indexes : bool
        Whether the frame of a payload holds message indexes, as that of Protobuf does.
    plain_indexes : bool
        Whether these are varints without zigzag.
    settings : mapping of str to str
        Settings of a serde that are this format's alone, under Confluent's keys, and what each does.
    policies : tuple of str
        The compatibility policies that `differences` knows, such as ``"LENIENT"``; the strict one is always known.
    options_name : str
        What an error calls the options, if there are any.
    """

    type: ClassVar[str]
    name: ClassVar[str]
    message_indexes: ClassVar[bool] = False
    plain_indexes: bool = False
    settings: ClassVar[Mapping[str, str]] = {}
    policies: ClassVar[tuple[str, ...]] = ("STRICT",)
    options_name: ClassVar[str] = ""

    def configured(self, config: Mapping[str, Any]) -> SchemaFormat:
        """Return the format as the settings of a serde ask for it.

        Parameters
        ----------
        config : mapping
            All settings of the serde; only those of `settings` matter.

        Raises
        ------
        ConfigError
            If one of them has a value that it does not take.
        """
        return self

    def of_message(self, message: object) -> SchemaFormat:
        """Return the format for payloads of one message of their schemas.

        Raises
        ------
        ConfigError
            If it is none, or schemas of this language have none.
        """
        raise ConfigError(f"the format {self.name} takes no message=")

    def options_type(self) -> Any:
        """Return the class of the options, of which all arguments have defaults; None if there are none."""
        return None

    def options(self, options: object) -> Any:
        """Return how schemas are laid out in columns, checked; None stands for the defaults.

        Raises
        ------
        ConfigError
            If these are no options of this format.
        """
        kind = self.options_type()
        if kind is None and options is not None:
            raise ConfigError(f"the format {self.name} takes no options=")
        if kind is None:
            return None
        if options is None:
            return kind()
        if not isinstance(options, kind):
            raise ConfigError(f"options= are {self.options_name}, not {type(options).__name__}")
        return options

    def named_options(self, named: Mapping[str, Any]) -> Any:
        """Return options by their names, as functions of Spark have them."""
        kind = self.options_type()
        if kind is None and named:
            raise ConfigError(f"the format {self.name} takes no options: {', '.join(named)}")
        return None if kind is None else kind(**named)

    def is_large(self, options: Any) -> bool:
        """Return whether encoded columns have 64-bit offsets: what the options say, if they say anything."""
        return bool(getattr(options, "large", False))

    def writes_nulls(self, array: Any) -> bool:
        """Return whether an array is written as nulls only, so that no schema is needed for it."""
        return bool(array.null_count == len(array))

    # Texts

    @abstractmethod
    def parse(self, text: str, references: Sequence[NamedText] = ()) -> Any:
        """Parse a schema.

        Parameters
        ----------
        text : str
            The schema.
        references : sequence of NamedText
            Those that it needs, directly or through others; each stands after all that it needs itself.

        Raises
        ------
        SchemaError
            With the place of what is wrong.
        """

    def parse_known(self, text: str, references: Sequence[NamedText] = ()) -> Any:
        """Parse a schema that is only looked up or compared: what a registry would not take any more may pass.

        Raises
        ------
        SchemaError
            With the place of what is wrong.
        """
        return self.parse(text, references)

    @abstractmethod
    def canonical(self, schema: Any) -> str:
        """Return the text that a registry keeps of a parsed schema; equal texts are one schema.

        Raises
        ------
        SchemaError
            If a registry would not take the text.
        """

    def is_printable(self, schema: Any) -> bool:
        """Return whether `canonical` surely takes a parsed schema without references, with no letters but its text's.

        Then it is compared without being printed. Letters that the text has as JSON's escapes are its own too.
        """
        return False

    def normalized(self, schema: Any) -> str:
        """Return the text that a registry keeps if asked to normalize: without differences that mean nothing."""
        return self.canonical(schema)

    def printed(self, schema: Any, form: str) -> str:
        """Return the text of a schema in a form that is asked for by name, such as ``"resolved"``.

        A form that the language does not know gives the canonical text, as with the server's ``format``.
        """
        return self.canonical(schema)

    def check_fields(self, schema: Any) -> None:
        """Refuse names of fields that a registry reserves, where it is asked to validate fields.

        Raises
        ------
        SchemaError
            If there is one.
        """
        return

    def check_references(self, schema: Any) -> None:
        """Refuse a schema whose types are in none of the texts that it was parsed with, if parsing did not.

        Raises
        ------
        SchemaError
            If there is one.
        """
        return

    def top_fields(self, schema: Any) -> Collection[str]:
        """Return the names of the fields at the top of a schema, which its metadata may reserve."""
        return ()

    def resolved(self, schema: Any) -> str | None:
        """Return the canonical text with all references written out; None in a language that cannot."""
        return None

    def record_name(self, text: str) -> str | None:
        """Return the name that a subject may get from a schema's text; None if it has none.

        Raises
        ------
        SchemaError
            If the text is not of this language at all.
        """
        return None

    def given_text(self, schema: object) -> str:
        """Return the text of a schema as a user gives it.

        Raises
        ------
        ConfigError
            If it is of a type that this language has no use for.
        """
        if not isinstance(schema, str):
            raise ConfigError(f"a schema is its text or a Schema, not {type(schema).__name__}")
        return schema

    def given_message(self, schema: object) -> str | None:
        """Return the message that a user means by what stands for a schema, such as a class of one; None for any."""
        return None

    def given_imports(self, schema: object) -> tuple[NamedText, ...]:
        """Return the schemas that a user gives along with one, to be registered before it."""
        return ()

    def imports(self, text: str) -> tuple[str, ...]:
        """Return the names of the schemas that one needs as references, in their order."""
        return ()

    def reference_subject(self, name: str) -> str:
        """Return the subject that a schema which others import is registered under."""
        return name

    def fingerprint(self, schema: Any) -> bytes:
        """Return the 8 bytes by which Avro's single objects name a parsed schema.

        Raises
        ------
        ConfigError
            In other languages.
        """
        raise ConfigError(
            f"schemas of type {self.type} have no fingerprint: SINGLE_OBJECT is a frame of Avro's"
        )

    def message_path(self, schema: Any, named: int | bytes | None) -> tuple[int, ...]:
        """Return the message indexes of a payload whose frame has something else in their place.

        Parameters
        ----------
        schema : object
            The parsed schema of the payload.
        named : int, bytes or None
            The number of its message, as AWS Glue counts; a message ``Ref`` of Apicurio's, which holds its name; None
            where nothing names it.

        Raises
        ------
        SchemaError
            If the schema has no such message.
        """
        return ()

    def message_number(self, schema: Any, indexes: Sequence[int]) -> int:
        """Return the number of a message as AWS Glue counts, given its indexes."""
        return 0

    def message_name(self, schema: Any, indexes: Sequence[int]) -> bytes:
        """Return the message ``Ref`` of Apicurio's that names a message, given its indexes."""
        return b""

    def written_text(self, text: str) -> str:
        """Return the text that a writer registers or looks up for the one it was given."""
        return text

    def derived_text(self, kind: pa.DataType) -> str:
        """Return the schema that a column of an Arrow type is written with where none is given.

        Raises
        ------
        SchemaError
            If there is none.
        """
        raise SchemaError(f"schemas of type {self.type} are not derived from columns")

    def printer(self, schema: Any) -> Callable[[pa.Array], list[str | None]] | None:
        """Return what prints the values of an array as the language's console consumers do; None for plain JSON.

        The array holds values of a parsed schema as `decoder` makes them.
        """
        return None

    # Comparison

    def line_reader(self, schema: Any) -> Callable[[list[bytes]], pa.Array] | None:
        """Return what reads lines that are what `printer` prints and nothing else, as columns.

        Lines that are not, or may be plain JSON as well, are null. None if the format prints plain JSON.
        """
        return None

    @abstractmethod
    def same(self, left: Any, right: Any) -> bool:
        """Return whether two parsed schemas are the same, so that values of one need no conversion to the other."""

    @abstractmethod
    def differences(self, reader: Any, writer: Any, *, policy: str = "STRICT") -> list[Difference]:
        """Return why one parsed schema cannot read what was written with the other; empty if it can.

        Parameters
        ----------
        reader, writer : object
            Parsed schemas.
        policy : str
            One of `policies`; given only to a format that has others than the strict one.

        Raises
        ------
        SchemaError
            If they are nested too deeply to be compared.
        """

    def conversions(self, reader: Any, writer: Any) -> list[Difference]:
        """Return where a parsed schema has other logical types than the other, of which `differences` knows nothing.

        The type is ``LOGICAL_TYPE_CONVERTED`` where values are converted, ``LOGICAL_TYPE_MISMATCH`` where they are
        errors when they are read. Empty in a language that has none.

        Raises
        ------
        SchemaError
            If the two cannot be compared.
        """
        return []

    def changes(self, old: Any, new: Any) -> list[Difference]:
        """Return what one parsed schema changed of another, what breaks no reader included.

        Empty in a language that knows only what breaks; `differences` tells that. Messages may be empty.
        """
        return []

    def losses(self, reader: Any, writer: Any) -> list[Difference]:
        """Return what one parsed schema reads otherwise than it was written with the other, where `differences` passes.

        Messages are the words for it. Empty in a language whose readers change no value.
        """
        return []

    def explain(self, difference: Difference, reader: str, writer: str) -> str:
        """Return a difference as a registry reports it.

        Parameters
        ----------
        difference : Difference
            One that `differences` returned.
        reader, writer : str
            What the two schemas are called, such as ``"new"`` and ``"old"``.
        """
        return f"{{errorType:'{difference.type}', description:'{self.describe(difference, reader, writer)}'}}"

    def describe(self, difference: Difference, reader: str, writer: str) -> str:
        """Return what a difference means in one sentence; the arguments are those of `explain`."""
        return f"{difference.message} (path '{difference.path}' of the {reader} schema)"

    # Payloads

    def reading(self, schema: Any, first: tuple[Any, tuple[int, ...]] | None) -> SchemaFormat | None:
        """Return the format for the message that payloads are read as; None while that depends on the first one.

        Parameters
        ----------
        schema : object
            The reader's schema, parsed.
        first : tuple or None
            The parsed schema and the message indexes of the first payload, if there is one.

        Raises
        ------
        SchemaError
            If the indexes mean no message, or one that the reader's schema does not have.
        """
        return self

    def json_text(self, schema: Any, value: bytes, start: int = 0, indexes: tuple[int, ...] = ()) -> str:
        """Return one payload as JSON, as the language's console consumers print it, or as its columns have it.

        Parameters
        ----------
        schema : object
            The writer's schema, parsed.
        value : bytes
            The payload, behind its frame if it has one.
        start : int
            Where the payload begins; offsets of errors are counted from the first byte of the value.
        indexes : tuple of int
            The message indexes, if the format has any.

        Raises
        ------
        DecodeError
            With offset and path, if the bytes are no value of the schema.
        SchemaError
            If nothing that was written with the schema can be read.
        ConfigError
            As `decoder`.
        """
        import numpy as np
        import pyarrow as pa

        from kcodec.formats.json.codec import JsonCodec
        from kcodec.plan import Limits

        known = self.reading(schema, (schema, indexes)) or self
        decoder = known.decoder(schema, known.options(None), Limits(max_expansion=1 << 20))
        array, faults = decoder.decode(
            pa.array([value], pa.binary()),
            [decoder.program(schema, indexes)],
            selector=np.zeros(1, np.int32),
            starts=np.array([start], np.int32),
            stop=True,
        )
        if faults:
            raise DecodeError(*faults[0])
        printer = known.printer(schema)
        if printer is not None:
            return printer(array)[0] or "null"
        text = JsonCodec(array.type).encode(array)[0].as_py()
        return "null" if text is None else str(text, "utf-8")

    def message_names(self, schema: Any) -> Sequence[str]:
        """Return the full names of the messages that a schema declares, where schemas declare messages."""
        return ()

    def members(self) -> Mapping[str, SchemaFormat]:
        """Return the formats of the messages, by name, whose structs columns are; empty where columns are of one."""
        return {}

    def tagged_fields(
        self, schema: Any, ruled: Any, kind: pa.DataType, options: Any
    ) -> Sequence[TaggedField]:
        """Return the fields of a column that rules may be about, in the order in which rules come to them.

        Parameters
        ----------
        schema : object
            The parsed schema that the column is laid out as.
        ruled : object
            The parsed schema whose rules there are, which may be the same: names and tags of fields are its own.
        kind : pyarrow.DataType
            The type of the column; fields that it does not have are left out.
        options : object
            What `options` returned.

        Raises
        ------
        ConfigError
            If fields of this language have no tags.
        """
        raise ConfigError(f"rules of schemas of type {self.type} are not run here")

    def decoder(self, schema: Any, options: Any, limits: Limits) -> SchemaDecoder:
        """Return what reads payloads as a parsed schema.

        Parameters
        ----------
        schema : object
            The reader's schema, parsed.
        options : object
            What `options` returned.
        limits : Limits
            What one row may cost.

        Raises
        ------
        SchemaError
            If the schema has no Arrow type.
        ConfigError
            If kcodec keeps and compares schemas of this language, but does not read what is written with them.
        """
        raise ConfigError(f"payloads of schemas of type {self.type} are not read here")

    def encoder(self, schema: Any, given: Any | None, options: Any, limits: Limits) -> SchemaEncoder:
        """Return what writes columns as a parsed schema.

        Parameters
        ----------
        schema : object
            What payloads are written with, parsed.
        given : object or None
            The parsed schema whose values the columns hold, where that is another; values are converted then.
        options, limits
            As for `decoder`.

        Raises
        ------
        SchemaError, ConfigError
            As for `decoder`.
        """
        raise ConfigError(f"payloads of schemas of type {self.type} are not written here")


def flag(config: Mapping[str, Any], key: str, default: bool) -> bool:
    """Return a setting that is true or false.

    Raises
    ------
    ConfigError
        If it is neither, as Python has them or as text.

    Examples
    --------
    >>> flag({"normalize.schemas": "true"}, "normalize.schemas", False)
    True
    """
    value = config.get(key, default)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ConfigError(f"{key}={value!r} is not true or false")


def find_schema_format(key: str) -> SchemaFormat | None:
    """Return the format of a schema type or of a serde's format; None if there is none.

    Raises
    ------
    ConfigError
        If it is a plugin's that cannot be loaded, or that is not a `SchemaFormat` of this name.
    """
    if key in _BUILT_IN:
        return _built_in(key)
    entry = _plugins().get(key)
    if entry is None:
        return None
    try:
        found = entry.load()
    except Exception as error:
        # Whatever the import of a stranger's module raises.
        raise ConfigError(f"the schema format {key} ({entry.value}) cannot be loaded: {error!r}") from error
    if isinstance(found, type) and issubclass(found, SchemaFormat):
        found = found()
    if not isinstance(found, SchemaFormat) or key not in (found.type, found.name):
        raise ConfigError(f"{entry.value} is not a SchemaFormat of type or name {key}")
    return found


@functools.cache
def _built_in(key: str) -> SchemaFormat:
    made: SchemaFormat = load(_BUILT_IN[key])()
    return made


def schema_format(key: str) -> SchemaFormat:
    """Return the format of a schema type or of a serde's format.

    Parameters
    ----------
    key : str
        Such as ``"AVRO"``.

    Raises
    ------
    ConfigError
        If there is none; it names those that there are.

    Examples
    --------
    >>> schema_format("AVRO").type
    'AVRO'
    """
    found = find_schema_format(key) if isinstance(key, str) else None
    if found is None:
        raise _unknown(key, {*_BUILT_IN, *_plugins()})
    return found


def serde_format(key: str) -> SchemaFormat:
    """Return a format by the name that serdes have for it.

    Raises
    ------
    ConfigError
        If there is none; it names those that there are.

    Examples
    --------
    >>> serde_format("XML")
    Traceback (most recent call last):
    kcodec.errors.ConfigError: format 'XML' is not one of AVRO, JSON_SR, PROTOBUF
    """
    found = find_schema_format(key) if isinstance(key, str) else None
    if found is None:
        raise _unknown(
            key, {each for each, language in _loaded(*_BUILT_IN, *_plugins()) if language.name == each}
        )
    if found.name != key:
        raise ConfigError(f"{key!r} is a schema type: {_instead(key) or f'its format is {found.name!r}'}")
    return found


def _instead(key: str) -> str:
    """Return what reads a format that no registry has schemas of."""
    return FORMATS[key].instead if key in FORMATS else ""


def _unknown(key: object, formats: Iterable[str]) -> ConfigError:
    known = sorted(formats)
    instead = _instead(str(key).upper())
    hint = f": {instead}" if instead else near(str(key), known)
    return ConfigError(f"format {key!r} is not one of {', '.join(known)}{hint}")


def schema_types() -> list[str]:
    """Return the schema types that there are: ours, and those of the plugins that can be loaded.

    Examples
    --------
    >>> schema_types()
    ['JSON', 'PROTOBUF', 'AVRO']
    """
    found = [known.type for _, known in _loaded(*_plugins())]
    # In the order in which Confluent's server lists them.
    return ["JSON", "PROTOBUF", "AVRO", *dict.fromkeys(found)]


def _loaded(*keys: str) -> Iterator[tuple[str, SchemaFormat]]:
    """Go through those of some formats that can be loaded."""
    for key in keys:
        with suppress(ConfigError):
            known = find_schema_format(key)
            if known is not None:
                yield key, known


@functools.cache
def _plugins() -> dict[str, EntryPoint]:
    """Return the entry points by name; they are looked for once in a process."""
    # With modules for e-mail and archives.
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}
