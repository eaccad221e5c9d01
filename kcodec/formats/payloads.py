"""Payloads of a schema language as serdes know them: what reads and writes columns by a schema, and its options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kcodec.errors import ConfigError, Fault, SchemaError
from kcodec.formats.language import NamedText, SchemaLanguage
from kcodec.formats.tagged import TaggedField

if TYPE_CHECKING:
    # A registry needs no Arrow.
    import pyarrow as pa
    from typing_extensions import Self

    from kcodec.objects.form import ObjectForm
    from kcodec.objects.kernel import Reader, Writer
    from kcodec.plan import Limits


class SchemaDecoder(ABC):
    """A reader's schema with its columns fixed, for payloads of any number of writers' schemas."""

    #: Text of the schema that payloads are read as.
    text: str
    #: Type of the decoded columns, the same for every writer.
    arrow_type: pa.DataType
    #: Whether `decode` also takes what all values start with, where they are read by one program.
    takes_prefix = False

    @property
    def given_type(self) -> pa.DataType:
        """What Python values are taken as: `arrow_type`, or it with fields of `kcodec.columns.arrays.values.NUMBER`."""
        return self.arrow_type

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

    def array_reader(self, program: Any, *, floor: bool = False) -> Reader:
        """Return what reads the payloads of a program as Python objects by `decode`; `floor` drops nanoseconds."""
        # A registry needs no Arrow.
        from kcodec.objects.by_columns import ArrayReader

        return ArrayReader(
            lambda values, selector, starts, stop: self.decode(
                values, [program], selector=selector, starts=starts, stop=stop
            ),
            floor=floor,
        )


class SchemaEncoder(ABC):
    """A schema that columns of any fitting Arrow type are written with."""

    #: Which message of the schema's text is written, if the format has message indexes.
    indexes: tuple[int, ...] = ()

    #: Whether `encode` looks at the offsets of arrays itself, as kernels do; else its caller does.
    checks_offsets = False

    @abstractmethod
    def encode(
        self, array: pa.Array, *, prefix: bytes, large: bool, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
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

    def object_writer(
        self, form: ObjectForm, columns: Writer, kind: Callable[[], pa.DataType | None]
    ) -> Writer | None:
        """Return what writes Python objects as payloads; None if only columns are written.

        Parameters
        ----------
        form : ObjectForm
            What the objects are.
        columns : Writer
            What writes them as columns, for objects that are seldom or wrong.
        kind : callable
            Returns the type of these columns, or None if it depends on the objects. Not all schemas have one.
        """
        return None


class SchemaPayloads(SchemaLanguage):
    """What a serde asks of a schema language, besides what registries do.

    Attributes
    ----------
    name : str
        The serde's format; often the same as the schema type.
    message_indexes : bool
        Whether the frame of a payload holds message indexes, as that of Protobuf does.
    plain_indexes : bool
        Whether these are varints without zigzag.
    settings : mapping of str to str
        Settings of a serde that are this format's alone, under Confluent's keys, and what each does.
    options_name : str
        What an error calls the options, if there are any.
    """

    name: ClassVar[str]
    message_indexes: ClassVar[bool] = False
    plain_indexes: bool = False
    settings: ClassVar[Mapping[str, str]] = {}
    options_name: ClassVar[str] = ""

    def configured(self, config: Mapping[str, Any]) -> Self:
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

    def of_message(self, message: object) -> Self:
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

    # Schemas as users give them

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

    # Payloads

    def named_text(self, kind: pa.DataType, name: str, namespace: str) -> str:
        """Return what `derived_text` returns, with these names at its root; either may be empty.

        Raises
        ------
        SchemaError
            If there is none.
        ConfigError
            If the language has no such names.
        """
        raise ConfigError(f"schemas of type {self.type} are derived without name= and namespace=")

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

    def reading(self, schema: Any, first: tuple[Any, tuple[int, ...]] | None) -> Self | None:
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

    def members(self) -> Mapping[str, Self]:
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
    """Return a setting that is true or false, as Python has them or as text; another one is a `ConfigError`.

    >>> flag({"normalize.schemas": "true"}, "normalize.schemas", False)
    True
    """
    value = config.get(key, default)
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ConfigError(f"{key}={value!r} is not true or false")
