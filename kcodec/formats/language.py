"""A schema language as registries know it: its texts, and which schema reads what was written with another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

from kcodec.errors import ConfigError


class NamedText(NamedTuple):
    """A schema that another one refers to."""

    #: What it is called there: an Avro full name, a Protobuf import path, a JSON Schema ``$ref``.
    name: str
    text: str
    #: Subject and version under which a registry has it; None for what only others refer to.
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


class SchemaLanguage(ABC):
    """What a registry asks of a schema language.

    What `parse` returns is known to the language alone; others hand it back to the methods of the same language. An
    instance is never changed, pickles, and may be used by several threads at once.

    Attributes
    ----------
    type : str
        The registry's schema type, such as ``"AVRO"``.
    policies : tuple of str
        The compatibility policies that `differences` knows, such as ``"LENIENT"``; the strict one is always known.
    """

    type: ClassVar[str]
    policies: ClassVar[tuple[str, ...]] = ("STRICT",)

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

    def message_names(self, schema: Any) -> Sequence[str]:
        """Return the full names of the messages that a schema declares, where schemas declare messages."""
        return ()

    # Comparison

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
