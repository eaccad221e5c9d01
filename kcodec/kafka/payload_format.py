"""How keys or values of topics become columns and back: by a codec, a serde, or a format given by its name."""

import inspect
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from kcodec import registry as registries
from kcodec.columns.arrays.given import payloads
from kcodec.errors import ConfigError, near
from kcodec.formats.schema_format import find_schema_format
from kcodec.formats.table import FORMATS, Format, load
from kcodec.frames import Frame
from kcodec.kafka.connection.settings import Settings
from kcodec.registry.base import SchemaRegistry
from kcodec.serde.serde import Serde

__all__ = ["PayloadFormat", "format_name"]

logger = logging.getLogger(__name__)

#: Of codecs, and of serdes.
_METHODS = ("decode", "encode", "deserialize", "serialize")


def format_name(given: str) -> str:
    """Return the name of a format, which may be given in any case, with ``-`` for ``_``; refuse any other."""
    for name in (given, given.upper().replace("-", "_")):
        if name in FORMATS:
            return name
        language = find_schema_format(name)
        if language is not None and language.name == name:
            return name
    known = [name for name in FORMATS if name != "NONE"]
    raise ConfigError(f"format {given!r} is not one of {', '.join(known)} or a plugin's{near(given, known)}")


class PayloadFormat:
    """The format of the keys or of the values of some topics.

    `given` is a codec, a serde, or what has their methods; a format's name, a mapping of ``"format"`` and the arguments
    of its codec or serde; or None: then the bytes stay as they are. `fields` are the only ones that are read, where the
    format can leave others out.
    """

    def __init__(
        self, given: Any, settings: Settings, is_key: bool, fields: Sequence[str] | None = None
    ) -> None:
        self.name = "key" if is_key else "value"
        self._is_key = is_key
        self._settings = settings
        self._fields = fields
        self._fixed: Any = None
        self._named: dict[str, Any] | None = None
        self._serdes: dict[str, Serde] = {}
        self._noted: set[str] = set()
        self._registry: SchemaRegistry | None = None
        if isinstance(given, (str, Mapping)):
            self._name(given)
        elif any(hasattr(given, method) for method in _METHODS) and not isinstance(given, (bytes, type)):
            self._fixed = given if fields is None else given.select(fields)
        elif given is not None:
            raise ConfigError(
                f"{self.name} is a codec, a serde, a format's name or a mapping of it and its options, not a "
                f"{type(given).__name__}"
            )

    def _name(self, given: str | Mapping[str, Any]) -> None:
        options = {"format": given} if isinstance(given, str) else dict(given)
        name = options.pop("format", None)
        if not isinstance(name, str):
            raise ConfigError(f"{self.name} names no format: {{'format': 'AVRO', ...}}")
        name = format_name(name)
        try:
            known = FORMATS.get(name)
            if known is not None and known.is_plain:
                if options:
                    raise ConfigError(
                        f"{self.name}: format {name!r} has no options: {', '.join(map(str, options))}"
                    )
            elif known is not None and known.codec is not None and known.language is None:
                self._fixed = self._codec(known, known.codec, options)
            else:
                self._check(name, options, Serde)
                self._named = {**options, "format": name}
                self._serde("")
        except TypeError as error:
            raise ConfigError(f"{self.name}: {error}") from None

    def _codec(self, known: Format, place: str, options: Mapping[str, Any]) -> Any:
        """Return the codec of a format whose schemas are in no registry."""
        name = known.name
        if known.needs is not None and known.needs not in options:
            plain = "; documents that are not ksqlDB's take a kcodec.JsonCodec" if name == "JSON" else ""
            raise ConfigError(
                f"{self.name}: format {name!r} needs {known.needs}: {{'format': {name!r}, "
                f"{known.needs!r}: 'ID BIGINT, ...'}}{plain}"
            )
        made = load(place)
        self._check(name, options, made)
        return made(*((name,) if known.is_shared else ()), **{"is_key": self._is_key, **options})

    def _check(self, name: str, options: Mapping[str, Any], made: type) -> None:
        """Refuse options that the codec or serde does not take."""
        known = [option for option in inspect.signature(made).parameters if option != "format"]
        for option in options:
            if option not in known:
                instead = near(str(option), known) or f": its options are {', '.join(known)}"
                raise ConfigError(f"{self.name}: format {name!r} has no option {option!r}{instead}")

    @property
    def is_bytes(self) -> bool:
        """Whether the bytes stay as they are."""
        return self._fixed is None and self._named is None

    @property
    def has_text_ids(self) -> bool:
        """Whether errors have schema ids as text."""
        frame = getattr(self._fixed, "frame", None) if self._named is None else self._named.get("frame")
        return frame is not None and Frame.of(frame).has_text_ids

    def arrow_type(self, topic: str) -> pa.DataType | None:
        """Return the type of decoded columns; None while that depends on the first value."""
        if self.is_bytes:
            return pa.binary()
        return self._of(topic).arrow_type

    def decode(self, topic: str, array: pa.Array, headers: pa.Array, errors: str) -> Any:
        """Decode a column of payloads as `Codec.decode` and `Serde.deserialize` do."""
        found = self._of(topic)
        if not hasattr(found, "deserialize"):
            # Those of ksqlDB may have schemas that headers name.
            if getattr(found, "has_schemas", False) and len(headers.values):
                return found.decode(array, errors, headers)
            return found.decode(array, errors)
        # Few topics have headers: then ids are looked for in prefixes only.
        return found.deserialize(array, errors, headers if len(headers.values) else None)

    def encode(self, topic: str, column: Any) -> tuple[pa.Array, tuple[str, pa.Array] | None]:
        """Encode a column; also return the name and contents of the header that names its schema, if there is one."""
        if self.is_bytes:
            try:
                chunks = payloads(column)[0]
            except TypeError as error:
                raise ConfigError(f"{self.name}: {error}, or a format ({self.name}='AVRO')") from None
            return (pa.concat_arrays(chunks) if len(chunks) != 1 else chunks[0]), None
        found = self._of(topic)
        if not hasattr(found, "serialize"):
            return _whole(found.encode(column)), None
        self._check_topic(topic, getattr(found, "topic", None))
        if not found.writes_headers:
            return _whole(found.serialize(column)), None
        values, headers = found.serialize_with_headers(column)
        return _whole(values), (found.header, headers)

    def line_reader(self, topic: str) -> Any:
        """Return what reads lines of the format's own JSON: see `kcodec.Serde.line_reader`."""
        found = None if self.is_bytes else self._of(topic)
        return found.line_reader() if isinstance(found, Serde) else None

    def encoded_type(self, topic: str) -> pa.DataType | None:
        """Return the type of what `encode_reported` returns; None if it returns nothing."""
        found = self._of(topic)
        if not hasattr(found, "serialize"):
            return found.encode(pa.nulls(0, found.arrow_type)).type
        return None if found.writes_headers else found.serialize(pa.nulls(0, found.arrow_type)).type

    def encode_reported(self, topic: str, column: Any) -> tuple[pa.Array, pa.Table]:
        """Encode a column with a report of its bad rows, as ``errors="report"`` does; no ids are put into headers."""
        found = self._of(topic)
        encoded, report = (getattr(found, "serialize", None) or found.encode)(column, "report")
        return _whole(encoded), report

    def _check_topic(self, topic: str, named: str | None) -> None:
        """Warn once for each topic that its schemas are another topic's: readers look for them under its own name."""
        if named is None or named == topic or topic in self._noted:
            return
        self._noted.add(topic)
        logger.warning(
            "the %s of topic %s is written by a serde of topic %s: its schema is under that one's subject, where "
            "readers of %s do not look",
            self.name,
            topic,
            named,
            topic,
        )

    def _of(self, topic: str) -> Any:
        assert not self.is_bytes
        return self._fixed if self._fixed is not None else self._serde(topic)

    def _serde(self, topic: str) -> Serde:
        found = self._serdes.get(topic)
        if found is None:
            assert self._named is not None
            options = dict(self._named)
            registry = options.pop("registry", None)
            if registry is None and "schema.registry.url" not in (options.get("config") or {}):
                needed = Frame.of(options.get("frame")).needs_registry or self._settings.registry is not None
                registry = self._shared_registry() if needed else None
            elif isinstance(registry, str):
                registry = self._opened(registry)
            if self._settings.rules:
                options["config"] = {**dict(self._settings.rules), **(options.get("config") or {})}
            # A topic of no name stands for a first check of the options.
            place = {"topic": topic or None, "is_key": self._is_key}
            found = Serde(registry=registry, **{**place, **options})
            if self._fields is not None:
                found = found.select(self._fields)
            self._serdes[topic] = found
        return found

    def _shared_registry(self) -> SchemaRegistry:
        if self._settings.registry is None:
            raise ConfigError(
                f"{self.name} needs a registry: schema.registry.url, on the command line --registry URL, in Python "
                "also registry= beside format="
            )
        return self._opened(self._settings.registry)

    def _opened(self, url: str) -> SchemaRegistry:
        if self._registry is None:
            self._registry = registries.open(url, dict(self._settings.registry_config))
        return self._registry


def _whole(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    return values
