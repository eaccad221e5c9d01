r"""What stands before a payload, or in a header beside it, and names the schema that it was written with.

A frame is a value: `kcodec.Serde` and everything that makes one takes it as ``frame=``, these here by their names too.

- `CONFLUENT`: ``00`` and an id of 4 bytes, or ``01`` and a GUID; `CONFLUENT_HEADER`: the same in a header.
- `GLUE`: ``03``, a byte of compression (``00``: none, ``05``: zlib) and a UUID. `GLUE_ZLIB` writes compressed; both
  read both.
- `APICURIO`: ``00`` and an id of 8 bytes; `APICURIO_LEGACY`: of 4 (``Legacy4ByteIdHandler``);
  `APICURIO_GLOBAL_ID` and `APICURIO_CONTENT_ID`: an id of 8 bytes in a header.
- `SINGLE_OBJECT`: Avro's own, ``C3 01`` and the CRC-64-AVRO of the schema.
- `AZURE`: ``avro/binary+`` and 32 hexadecimal digits in the header ``content-type``; `AZURE_JSON`:
  ``application/json+`` and these; `AZURE_JSON_PYTHON`: ``application/json;serialization=Json+`` and these;
  `AZURE_SCHEMA_ID`: these alone in the header ``schemaId``.
- `NONE`: nothing; the schema is given.

Examples
--------
>>> GLUE.written(bytes(range(16))).hex(" ")
'03 00 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f'
>>> Frame(prefix=b"\xca\xfe", id_size=8).written(7).hex(" ")
'ca fe 00 00 00 00 00 00 00 07'
"""

import ast
import uuid
from dataclasses import dataclass
from typing import NamedTuple

from kcodec.errors import ConfigError, check_choice, check_kind, check_names, is_whole, near

__all__ = [
    "APICURIO",
    "APICURIO_CONTENT_ID",
    "APICURIO_GLOBAL_ID",
    "APICURIO_LEGACY",
    "AZURE",
    "AZURE_JSON",
    "AZURE_JSON_PYTHON",
    "AZURE_SCHEMA_ID",
    "CONFLUENT",
    "CONFLUENT_HEADER",
    "FRAMES",
    "GLUE",
    "GLUE_ZLIB",
    "NONE",
    "SINGLE_OBJECT",
    "Frame",
    "Layout",
    "key_text",
]

#: Bytes of a prefix that kernels have room for.
_MAX_PREFIX = 8
#: Bytes of one that stands in front of text, which no kernel sees.
_MAX_TEXT = 64
#: Glue's bytes of compression, by what `Frame.compression` calls them.
_PACKED = {"none": 0, "zlib": 5}


class Layout(NamedTuple):
    """The bytes of a frame, as kernels take them; where there is none, the frame is Confluent's."""

    prefix: bytes
    #: Whether a byte of compression follows the prefix.
    packs: bool
    id_size: int
    #: Whether an id is a number; else it is its bytes.
    is_number: bool


@dataclass(frozen=True)
class Frame:
    r"""A frame of one's own, or one of those in `FRAMES`.

    Parameters
    ----------
    prefix : bytes
        What every frame begins with, at most 8 bytes (64 in front of ``"hex"``).
    id_size : {4, 8, 16, 0}
        Bytes of the id that follows; 0 where there is no frame at all, so that the schema has to be given.
    id_type : {"int", "bytes", "hex", "fingerprint", "confluent"}
        Whether an id is a number, big-endian (of 4 bytes without a sign, of 8 with one), or bytes, of which 16 are a
        GUID. In headers also ``"hex"``: bytes, as the text of two digits for each. ``"fingerprint"`` and
        ``"confluent"``: as `SINGLE_OBJECT` and `CONFLUENT` have it.
    compression : {"", "none", "zlib"}
        Not empty: between prefix and id stands a byte, 0 for a payload as it is, 5 for one that is compressed. Both
        are read; this is how payloads are written.
    header : str
        Not empty: the frame stands in the Kafka header of this name, in which ``{side}`` is ``key`` or ``value``.
    message : {"indexes", "number", "name", "header", ""}
        What names the message of a Protobuf payload, behind the frame: Confluent's message indexes; its number
        among the sorted full names of all messages, as Glue has it; a message ``Ref`` with its name, as Apicurio
        has it; that and the header ``apicurio.protobuf.type``, as Apicurio has it beside ids in headers; or nothing,
        then it is the message that is wanted.
    name : str
        What texts call it.

    Raises
    ------
    ConfigError
        If an argument is none of these.

    Examples
    --------
    >>> own = Frame(prefix=b"K", id_size=16, id_type="bytes", name="OWN")
    >>> own.size, own.written(bytes(16))[:3]
    (17, b'K\x00\x00')
    >>> Frame(id_size=5)
    Traceback (most recent call last):
    kcodec.errors.ConfigError: id_size=5 is not one of 0, 4, 8, 16
    """

    prefix: bytes = b""
    id_size: int = 4
    id_type: str = "int"
    compression: str = ""
    header: str = ""
    message: str = "indexes"
    name: str = ""

    def __post_init__(self) -> None:
        check_kind(bytes, "bytes", prefix=self.prefix)
        check_names(id_type=self.id_type, compression=self.compression, header=self.header)
        check_names(message=self.message, name=self.name)
        if not is_whole(self.id_size) or self.id_size not in (0, 4, 8, 16):
            raise ConfigError(f"id_size={self.id_size!r} is not one of 0, 4, 8, 16")
        check_choice("id_type", self.id_type, ("int", "bytes", "hex", "fingerprint", "confluent"))
        check_choice("compression", self.compression, ("", *_PACKED))
        check_choice("message", self.message, ("indexes", "number", "name", "header", ""))
        room = _MAX_TEXT if self.id_type == "hex" else _MAX_PREFIX
        if len(self.prefix) > room:
            raise ConfigError(f"prefix={self.prefix!r} has more than {room} bytes")
        if self.id_size == 16 and self.id_type == "int":
            raise ConfigError("an id of 16 bytes is no number: id_type='bytes'")
        if self.id_size == 4 and self.id_type in ("bytes", "hex"):
            raise ConfigError("an id of 4 bytes is a number: id_type='int'")
        if self.id_type == "fingerprint" and self.id_size != 8:
            raise ConfigError("a fingerprint has 8 bytes: id_size=8")
        if self.id_type == "hex" and not self.header:
            raise ConfigError("id_type='hex' is one of headers")
        if self.message == "header" and not self.header:
            raise ConfigError("message='header' is for ids in headers")
        if not self.id_size:
            if self.prefix or self.header or self.message not in ("indexes", ""):
                raise ConfigError(
                    "without an id there is no frame: id_size=0 takes no prefix, header or message"
                )
            # The default, which has nowhere to stand.
            object.__setattr__(self, "message", "")
        if self.compression and (self.header or not self.id_size):
            raise ConfigError("a byte of compression stands before an id, in front of the payload")

    def __repr__(self) -> str:
        if FRAMES.get(self.name) == self:
            return f"kcodec.frames.{self.name}"
        given = {name: value for name, value in self.__dict__.items() if value != getattr(Frame, name)}
        return f"Frame({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @classmethod
    def of(cls, frame: "Frame | str | None") -> "Frame":
        """Return a frame that is given as such, by its name, or as its `repr`; None stands for Confluent's.

        Examples
        --------
        >>> Frame.of("glue")
        kcodec.frames.GLUE
        >>> Frame.of("Frame(prefix=b'K', id_size=8)").size
        9
        >>> Frame.of("GLEU")
        Traceback (most recent call last):
        kcodec.errors.ConfigError: unknown frame 'GLEU': did you mean 'GLUE'?
        """
        if frame is None:
            return CONFLUENT
        if isinstance(frame, cls):
            return frame
        if not isinstance(frame, str):
            raise ConfigError(f"frame={frame!r} is not a kcodec.frames.Frame, or the name of one")
        if frame.startswith("Frame("):
            return cls._of_text(frame)
        found = FRAMES.get(frame.removeprefix("kcodec.frames.").upper())
        if found is None:
            hint = near(frame, FRAMES) or f"; known are {', '.join(FRAMES)}"
            raise ConfigError(f"unknown frame {frame!r}{hint}")
        return found

    @classmethod
    def _of_text(cls, text: str) -> "Frame":
        """Return a frame of which there is only its text: options of Spark and of commands are no more than that."""
        try:
            call = ast.parse(text, mode="eval").body
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
                raise ValueError
            given = {each.arg or "**": ast.literal_eval(each.value) for each in call.keywords}
            if len(given) < len(call.keywords):
                raise ValueError
            return cls(**given)
        except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            raise ConfigError(
                f"frame={text[:200]!r} is not as Frame(prefix=b'...', id_size=8) is written"
            ) from None

    @property
    def layout(self) -> Layout | None:
        """How the bytes are laid out, for kernels; None for Confluent's, of which there are two."""
        if self.id_type == "confluent":
            return None
        # The text of a header has been read when a kernel looks at the id.
        prefix = b"" if self.id_type == "hex" else self.prefix
        return Layout(prefix, bool(self.compression), self.id_size, self.id_type == "int")

    @property
    def size(self) -> int:
        """How many bytes stand before what names a message, and before the payload; Confluent's GUIDs apart."""
        return len(self.prefix) + bool(self.compression) + self.id_size * (2 if self.id_type == "hex" else 1)

    @property
    def has_text_ids(self) -> bool:
        """Whether error reports have the ids as text."""
        return self.id_type in ("bytes", "hex", "fingerprint")

    @property
    def needs_registry(self) -> bool:
        """Whether schemas can only be found in a registry; of the others, those that are given may be all there are."""
        return self.id_size > 0 and self.id_type != "fingerprint"

    def read(self, data: bytes) -> int | bytes | None:
        r"""Return the id in the bytes of a frame, which are all of it; None if these are no such frame.

        Examples
        --------
        >>> CONFLUENT.read(b"\x00\x00\x00\x00\x07"), GLUE.read(b"\x03")
        (7, None)
        """
        if self.id_type == "confluent":
            if len(data) == 17 and data[0] == 1:
                return data[1:]
            return int.from_bytes(data[1:], "big") if len(data) == 5 and data[0] == 0 else None
        if len(data) != self.size or not data.startswith(self.prefix):
            return None
        found = data[self.size - self.id_size :]
        if self.id_type == "int":
            return int.from_bytes(found, "big", signed=self.id_size == 8)
        return _from_hex(data[len(self.prefix) :]) if self.id_type == "hex" else found

    def header_of(self, *, is_key: bool) -> str:
        """Return the name of the header; empty if the frame stands before the payload."""
        return self.header.replace("{side}", "key" if is_key else "value")

    def written(self, key: int | bytes) -> bytes:
        """Return the frame of an id.

        Raises
        ------
        ConfigError
            If frames of this kind have no such id.
        """
        if not self.id_size:
            return self.prefix
        if self.id_type == "confluent":
            if isinstance(key, bytes):
                return b"\x01" + _sized(key, 16)
            return self.prefix + _number(key, self.id_size)
        packed = bytes([_PACKED[self.compression]]) if self.compression else b""
        if self.id_type == "int":
            return self.prefix + packed + _number(key, self.id_size)
        found = _sized(key, self.id_size)
        return self.prefix + packed + (found.hex().encode() if self.id_type == "hex" else found)


def _from_hex(digits: bytes) -> bytes | None:
    try:
        # fromhex passes over blanks.
        return bytes.fromhex(digits.decode()) if digits.isalnum() else None
    except ValueError:
        return None


def _number(key: int | bytes, size: int) -> bytes:
    if isinstance(key, bytes):
        raise ConfigError(f"this frame has ids that are numbers, and the schema's is {key_text(key)}")
    try:
        return key.to_bytes(size, "big", signed=size == 8)
    except OverflowError:
        raise ConfigError(f"the id {key} does not fit the {size} bytes that this frame has for one") from None


def _sized(key: int | bytes, size: int) -> bytes:
    if not isinstance(key, bytes) or len(key) != size:
        raise ConfigError(f"this frame has ids of {size} bytes, and the schema's is {key_text(key)}")
    return key


def key_text(key: int | bytes) -> int | str:
    """Return an id as error reports have it: numbers as they are, GUIDs in their form, other bytes in hexadecimal.

    >>> key_text(7), key_text(bytes(16)), key_text(bytes(8))
    (7, '00000000-0000-0000-0000-000000000000', '0000000000000000')
    """
    if isinstance(key, int):
        return key
    return str(uuid.UUID(bytes=key)) if len(key) == 16 else key.hex()


def key_of(text: str, size: int = 16) -> bytes:
    """Return the bytes of an id that is text, a GUID or hexadecimal digits; anything else is a `ConfigError`.

    >>> key_of("00000000-0000-0000-0000-0000000000ff").hex()
    '000000000000000000000000000000ff'
    """
    try:
        found = uuid.UUID(text).bytes if size == 16 else bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != size:
        raise ConfigError(f"the registry's id {text!r} is not one of {size} bytes, which this frame has")
    return found


CONFLUENT = Frame(b"\x00", id_type="confluent", name="CONFLUENT")
CONFLUENT_HEADER = Frame(b"\x00", id_type="confluent", header="__{side}_schema_id", name="CONFLUENT_HEADER")
GLUE = Frame(b"\x03", 16, "bytes", "none", message="number", name="GLUE")
GLUE_ZLIB = Frame(b"\x03", 16, "bytes", "zlib", message="number", name="GLUE_ZLIB")
APICURIO = Frame(b"\x00", 8, message="name", name="APICURIO")
APICURIO_LEGACY = Frame(b"\x00", 4, message="name", name="APICURIO_LEGACY")
APICURIO_GLOBAL_ID = Frame(
    b"", 8, header="apicurio.{side}.globalId", message="header", name="APICURIO_GLOBAL_ID"
)
APICURIO_CONTENT_ID = Frame(
    b"", 8, header="apicurio.{side}.contentId", message="header", name="APICURIO_CONTENT_ID"
)
SINGLE_OBJECT = Frame(b"\xc3\x01", 8, "fingerprint", message="", name="SINGLE_OBJECT")
AZURE = Frame(b"avro/binary+", 16, "hex", header="content-type", message="", name="AZURE")
AZURE_JSON = Frame(b"application/json+", 16, "hex", header="content-type", message="", name="AZURE_JSON")
AZURE_JSON_PYTHON = Frame(
    b"application/json;serialization=Json+",
    16,
    "hex",
    header="content-type",
    message="",
    name="AZURE_JSON_PYTHON",
)
AZURE_SCHEMA_ID = Frame(b"", 16, "hex", header="schemaId", message="", name="AZURE_SCHEMA_ID")
NONE = Frame(b"", 0, message="", name="NONE")

#: The frames of this module by their names.
FRAMES: dict[str, Frame] = {
    each.name: each
    for each in (
        CONFLUENT,
        CONFLUENT_HEADER,
        GLUE,
        GLUE_ZLIB,
        APICURIO,
        APICURIO_LEGACY,
        APICURIO_GLOBAL_ID,
        APICURIO_CONTENT_ID,
        SINGLE_OBJECT,
        AZURE,
        AZURE_JSON,
        AZURE_JSON_PYTHON,
        AZURE_SCHEMA_ID,
        NONE,
    )
}
