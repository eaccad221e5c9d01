"""Framed values to columns: how the payloads of each schema id are read."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from kcodec.codec import Run, Step
from kcodec.columns.arrays.given import payloads
from kcodec.columns.faults import Faults, integers, joined, null_rows, schema_ids
from kcodec.columns.framed.frame_hints import name_other_frames
from kcodec.columns.framed.frames import Indexes
from kcodec.columns.types.fields import field_names
from kcodec.contracts.encryption import Ruled, decrypt_fields, decrypt_groups, without_rows
from kcodec.contracts.row_rules import RowRules
from kcodec.contracts.rules import Contract, Phase
from kcodec.errors import CODES, ConfigError, DecodeError, Fault, RegistryError, SchemaError
from kcodec.formats.payloads import SchemaDecoder
from kcodec.formats.schema_format import SchemaFormat
from kcodec.objects.form import ObjectForm
from kcodec.objects.kernel import Reader
from kcodec.plan import Limits
from kcodec.plan.failure import OtherMeaning, OtherPrefix
from kcodec.registry.base import RegisteredSchema, Schema
from kcodec.serde.frames import Framed, Key, framed_chunks, prefixed, schema_key
from kcodec.serde.metrics import Meter, logger
from kcodec.serde.payloads import opened
from kcodec.serde.rules import migrations, reading_rules
from kcodec.serde.topic import GIVEN, Given, SchemaTexts, TopicSchemas
from kcodec.serde.turns import Turns

#: Ids that the registry does not have, for which it is asked for one column. Any bytes may be ids, and Confluent's
#: clients too remember only those that exist.
_MISSES = 100
#: Ids whose programs are kept, of some 15 kB each; the oldest goes first.
_MAX_SOURCES = 10_000
_NOT_ASKED = f"one of more than {_MISSES} unknown ids in these values, too many to ask the registry for"


class Source(NamedTuple):
    """How the payloads of one key are read: by a program; or not at all, with the error for their rows.

    `ruled` is what rules do with them, if there are any.
    """

    schema_id: int | str | None
    program: Any = None
    code: str = ""
    reason: str = ""
    ruled: Ruled | None = None


class ReadingSteps(NamedTuple):
    """The frames of a column's chunks, what reads each of them, and the type that it gives."""

    framed: list[Framed]
    step: Step
    arrow_type: pa.DataType


class FramedReader:
    """What reads the columns of a serde.

    It pickles with the programs of all ids that it has met, and then makes no request for them. What is `wanted` is a
    schema, an id, ``"latest"`` or ``"version:3"``, or None for what the settings ask for.
    """

    def __init__(
        self, topic: TopicSchemas, wanted: Given | int | str | None, options: Any, limits: Limits
    ) -> None:
        self._topic = topic
        self._wanted = wanted
        self._options = options
        self._limits = limits
        self._texts: SchemaTexts | None = None
        #: The reader's schema, where it may have rules that hold for all values: one that is given with rules, or that
        #: a setting of Confluent's names, as with Confluent's deserializers. Others are how values are laid out.
        self._asked: RegisteredSchema | None = None
        #: The reader's schema, whatever it is.
        self._found: Schema | None = None
        #: The last schema that could not be read as columns, and why: of 100,000 columns, that takes seconds to say.
        self._refused: tuple[SchemaTexts, SchemaError] | None = None
        self._format: SchemaFormat | None = None
        self._sources: dict[Key, Source] = {}
        #: Writers' schemas, where payloads of one id may be of several messages.
        self._fetched: dict[int | bytes, RegisteredSchema] = {}
        self._start()

    def _start(self) -> None:
        """Make the parts that are not pickled."""
        self._turns = Turns()
        self._decoder: SchemaDecoder | None = None
        self.meter = Meter()

    def __getstate__(self) -> dict[str, Any]:
        with self._turns.lock:
            state = self.__dict__ | {"_sources": dict(self._sources), "_fetched": dict(self._fetched)}
        for name in ("_turns", "_decoder", "meter"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start()

    @property
    def floor(self) -> bool:
        """Whether times that are finer than what they are read as are cut off."""
        return getattr(self._options, "round", None) == "truncate"

    def select(self, fields: Sequence[str]) -> "FramedReader":
        """Return a reader of some fields only; itself if the options choose fields already, or cannot choose any."""
        options = self._options
        if not dataclasses.is_dataclass(options) or getattr(options, "fields", ()) is not None:
            return self
        if self._topic.format.members():
            # The fields are messages.
            return self
        assert not isinstance(options, type)
        chosen: Any = dataclasses.replace(options, fields=field_names(fields))
        return FramedReader(self._topic, self._wanted, chosen, self._limits)

    def decoder(
        self, first: RegisteredSchema | None = None, indexes: tuple[int, ...] = ()
    ) -> SchemaDecoder | None:
        """Return what reads payloads; None while that depends on the schema and message of the first value."""
        with self._turns.lock:
            if self._decoder is None:
                self._decoder = self._make_decoder(first, indexes)
            return self._decoder

    def message_names(self) -> Sequence[str]:
        """Return the messages of the schema that is read; none while that depends on the first value."""
        with self._turns.lock:
            texts = self._texts or self._find(None, ())
            return () if texts is None else self._topic.format.message_names(self._topic.parsed(texts))

    def line_reader(self) -> Callable[[list[bytes]], pa.Array] | None:
        """Return what reads lines of the format's own JSON as columns, if it has one and the schema is known."""
        with self._turns.lock:
            texts = self._texts or self._find(None, ())
            return None if texts is None else self._topic.format.line_reader(self._topic.parsed(texts))

    def _make_decoder(self, first: RegisteredSchema | None, indexes: tuple[int, ...]) -> SchemaDecoder | None:
        texts, topic = self._texts or self._find(first, indexes), self._topic
        if texts is None:
            return None
        if self._refused is not None and self._refused[0] == texts:
            refusal = self._refused[1]
            raise type(refusal)(*refusal.args)
        schema = topic.parsed(texts)
        if self._format is None:
            seen = None if first is None else (topic.parsed(topic.texts(first.schema)), indexes)
            self._format = topic.format.reading(schema, seen)
        if self._format is None:
            return None
        try:
            decoder = self._format.decoder(schema, self._options, self._limits)
        except SchemaError as error:
            self._refused = texts, type(error)(*error.args)
            raise
        self._texts = texts
        return decoder

    def _find(self, first: RegisteredSchema | None, indexes: tuple[int, ...]) -> SchemaTexts | None:
        wanted, topic, config = self._wanted, self._topic, self._topic.config
        if isinstance(wanted, Given):
            self._asked, self._found = RegisteredSchema(None, "", wanted.schema), wanted.schema
            return topic.given_texts(wanted)
        if isinstance(wanted, int):
            self._found = self._turns.ask(partial(topic.registered, wanted)).schema
            return topic.texts(self._found)
        required = wanted is not None or config.use_latest or bool(config.use_metadata)
        try:
            subject = topic.subject(None) if first is None else self._subject(first.schema, indexes)
        except (ConfigError, SchemaError):
            if required:
                raise
            subject = None
        if subject is not None:
            try:
                latest = self._turns.ask(partial(self._version, subject))
                self._asked = latest if wanted is None and required else None
                self._found = latest.schema
                return topic.texts(latest.schema)
            except RegistryError as error:
                if required or not error.missing:
                    raise
        elif required and first is not None:
            raise ConfigError("the subject name strategy gives no subject")
        return None if first is None else topic.texts(first.schema)

    def _version(self, subject: str) -> RegisteredSchema:
        """Return the version of a subject that is read as."""
        wanted, config, registry = self._wanted, self._topic.config, self._topic.registry
        if wanted is None and config.use_metadata:
            return registry.get_latest_with_metadata(subject, dict(config.use_metadata))
        if isinstance(wanted, str) and wanted != "latest":
            return registry.get_version(subject, int(wanted.removeprefix("version:")))
        return registry.get_version(subject)

    def _subject(self, first: Schema, indexes: tuple[int, ...]) -> str | None:
        """Return the subject of the first value's schema, after its message where subjects are named after records."""
        topic = self._topic
        try:
            writer = topic.parsed(topic.texts(first))
            language = topic.format.reading(writer, (writer, indexes))
        except SchemaError:
            # Not every subject needs the schema; where it is read, this is said of the value.
            language = None
        return topic.subject(first, language)

    def fetch(self, schemas: Iterable[int | RegisteredSchema]) -> None:
        """Fetch schemas, by id or as the registry has given them; see `kcodec.Serde.fetch`."""
        with self._turns.lock:
            self.decoder()
            for each in schemas:
                if isinstance(each, int):
                    self._source(each)
                    continue
                name = self._topic.name_of(each)
                if name is None:
                    continue
                if self._topic.index_kind is Indexes.NONE:
                    self._source(name, each)
                else:
                    # Which of its messages, values say.
                    self._fetched[name] = each

    def read(self, values: Any, run: Run, headers: Any) -> Any:
        """Read a column; see `kcodec.Serde.deserialize`."""
        parts, chunked = run.parts(payloads(values))
        reading = self.reading(parts, run.errors, headers)
        text_ids = self._topic.frame.has_text_ids
        return run.result(
            reading.step, reading.framed, chunked, reading.arrow_type, DecodeError, text_ids=text_ids
        )

    def reading(self, chunks: list[pa.Array], errors: str, headers: Any) -> ReadingSteps:
        """Find out how the chunks of a column are read."""
        framed = framed_chunks(chunks, headers, self._topic, self._is_known, self._limits.max_expansion)
        # In the order of the first rows: the first schema may be the reader's.
        keys = dict.fromkeys(key for part in framed for key in part.used)
        known = ((key, self._sources.get(key)) for key in keys)
        sources = {key: source for key, source in known if source is not None}
        if len(sources) < len(keys) or self._texts is None:
            with self._turns.lock:
                sources = self._ready(list(keys), errors)
        decoder = None if self._texts is None else self.decoder()
        return ReadingSteps(
            framed,
            lambda part, stop: self._decode(part, sources, decoder, errors, stop),
            pa.null() if decoder is None else decoder.arrow_type,
        )

    def _ready(self, keys: list[Key], errors: str) -> dict[Key, Source]:
        """Find out how the payloads of keys are read: not at all, where the reader's schema is wrong."""
        try:
            self.decoder()
        except SchemaError as error:
            if errors == "raise":
                raise
            reason = f"the reader's schema: {error}"
            return {key: self._unread(key, "schema_error", reason) for key in keys}
        return self._look_up(keys, errors)

    def object_reader(
        self, key: Key, form: ObjectForm, value: bytes, *, in_header: bool
    ) -> tuple[Reader, int | str | None] | None:
        """Return what reads payloads of a value's key, which may stand in a header, as objects, and their schema id.

        None if only columns are read. What the key names may be why they cannot be read: then it is a `DecodeError` of
        row 0; other errors are those of `read`.
        """
        with self._turns.lock:
            self.decoder()
            source = self._look_up([key], "raise")[key]
            decoder = self._decoder
        if source.code:
            fault = Fault(0, None if in_header else 0, "", source.code, source.reason, source.schema_id)
            known = [] if source.code == "unknown_schema_id" else [schema_key(key)]
            self.meter.read(1, known, [fault], raised=True)
            raise DecodeError(*self._hinted([fault], pa.array([value], pa.binary()))[0])
        if source.ruled is not None:
            return None
        reader = None if decoder is None else decoder.object_reader(source.program, form)
        return None if reader is None else (reader, source.schema_id)

    def _is_known(self, key: Key) -> bool:
        """Return whether payloads of a key have been read, by a decoder that checks their prefix."""
        source = self._sources.get(key)
        decoder = self._decoder
        if source is None or source.code or decoder is None:
            return False
        ruled = source.ruled
        is_changed = ruled is not None and (bool(ruled.contract.payload) or ruled.rows is not None)
        return decoder.takes_prefix and not is_changed

    def _look_up(self, keys: list[Key], errors: str) -> dict[Key, Source]:
        """Find out how the payloads of keys are read, at the cost of one failure of the registry at most."""
        sources: dict[Key, Source] = {}
        failure, misses = "", 0
        # Keys come in the order of their first rows: if only the first bad row counts, no key after one that is not
        # there matters.
        max_misses = 1 if errors == "raise" else _MISSES
        for key in keys:
            is_new = key not in self._sources
            try:
                if is_new and failure:
                    source = self._unread(key, "registry_error", failure)
                elif is_new and misses >= max_misses:
                    source = self._unread(key, "unknown_schema_id", _NOT_ASKED)
                else:
                    source = self._source(key)
            except RegistryError as error:
                if errors != "report":
                    raise
                failure = f"{CODES['registry_error']}: {error}"
                logger.warning("%s", failure, extra={"schema_id": schema_key(key)})
                source = self._unread(key, "registry_error", failure)
            misses += source.code == "unknown_schema_id"
            sources[key] = source
        return sources

    def _source(self, key: Key, registered: RegisteredSchema | None = None) -> Source:
        """Find out how the payloads of a key are read; an unknown id is not remembered, it may be registered later."""
        known = self._sources.get(key)
        if known is not None:
            return known
        name = schema_key(key)
        if name == GIVEN:
            return self._given_source(key)
        registered = registered or self._fetched.get(name)
        if registered is None:
            try:
                registered = self._turns.ask(partial(self._topic.named, name))
            except RegistryError as error:
                if not error.missing:
                    raise
                return self._unread(key, "unknown_schema_id", CODES["unknown_schema_id"])
            self.meter.fetched(name, self._topic.registry.url)
        topic, named = self._topic, key[1] if isinstance(key, tuple) else ()
        if topic.format.message_indexes:
            self._fetched[name] = registered
        schema_id = registered.id if topic.told_id(name) is None else topic.told_id(name)
        try:
            writer = topic.parsed(topic.texts(registered.schema))
            indexes = topic.message_path(writer, named)
            decoder = self.decoder(registered, indexes)
            assert decoder is not None, "the first value's schema is read as itself if no other is named"
            changes = () if self._asked is None else migrations(topic, registered, self._asked)
            ruled = self._ruled(registered.schema, decoder, indexes, changes)
            if ruled is not None and ruled.rows is not None:
                writer, indexes = self._made(ruled.rows)
            source = Source(schema_id, decoder.program(writer, indexes), ruled=ruled)
        except SchemaError as error:
            code = "logical_type" if isinstance(error, OtherMeaning) else "schema_error"
            source = Source(schema_id, code=code, reason=str(error))
            if named:
                # Any bytes may be message indexes.
                return source
        while len(self._sources) >= _MAX_SOURCES:
            oldest = next(iter(self._sources))
            del self._sources[oldest]
            self._fetched.pop(schema_key(oldest), None)
        self._sources[key] = source
        return source

    def _made(self, rules: RowRules) -> tuple[Any, tuple[int, ...]]:
        """Return the schema and message of what rules make of payloads: it may be of another version."""
        made = rules.made
        return self._topic.parsed(SchemaTexts(made.text, made.references)), made.indexes

    def _ruled(
        self,
        written: Schema,
        decoder: SchemaDecoder,
        indexes: tuple[int, ...],
        changes: tuple[Phase, ...] = (),
    ) -> Ruled | None:
        """Return what rules do with the values of a writer's schema: the reader's, if it has any, else its own."""
        topic, asked = self._topic, self._asked
        schema = written if asked is None or not (changes or asked.schema.rules) else asked.schema
        contract = topic.contract(schema, "READ")
        own = contract if schema is written else topic.contract(written, "READ")
        if changes or any(each is not None and each.by_row for each in (contract, own)):
            subject = next((each.subject for each in (contract, own) if each is not None), "")
            contract = Contract(schema, subject, by_row=True)
            return Ruled(contract, rows=reading_rules(topic, contract, written, indexes, changes))
        if own is not None:
            # Payloads are encrypted as what they were written with.
            contract = dataclasses.replace(contract or own, payload=own.payload)
        if contract is None:
            return None
        fields: Sequence[Any] = ()
        if contract.fields:
            assert self._format is not None
            assert self._texts is not None
            reader, ruled = topic.parsed(self._texts), topic.parsed(topic.texts(schema))
            fields = self._format.tagged_fields(reader, ruled, decoder.arrow_type, self._options)
        return Ruled(contract, tuple(fields))

    def _unread(self, key: Key, code: str, reason: str) -> Source:
        return Source(self._topic.told_id(schema_key(key)), code=code, reason=reason)

    def _given_source(self, key: Key) -> Source:
        """Find out how payloads without a frame are read: as what was written with the schema that is given."""
        topic, decoder = self._topic, self.decoder()
        schema = topic.given[0].schema if topic.given else self._found
        if decoder is None or schema is None:
            raise ConfigError(
                "payloads without a frame need schema=, reader_schema= or a subject's latest version"
            )
        writer = topic.parsed(topic.texts(schema))
        indexes = topic.message_path(writer, ())
        ruled = self._ruled(schema, decoder, indexes)
        if ruled is not None and ruled.rows is not None:
            writer, indexes = self._made(ruled.rows)
        source = Source(None, decoder.program(writer, indexes), ruled=ruled)
        self._sources[key] = source
        return source

    def _decode(
        self,
        framed: Framed,
        sources: dict[Key, Source],
        decoder: SchemaDecoder | None,
        errors: str,
        stop: bool,
    ) -> tuple[pa.Array, Sequence[Fault]]:
        try:
            array, faults = self._decode_rows(framed, sources, decoder, stop)
        except OtherPrefix:
            framed = prefixed(framed.values, self._topic, self._limits.max_expansion)
            with self._turns.lock:
                sources = self._look_up(framed.used, errors)
            array, faults = self._decode_rows(framed, sources, decoder, stop)
        return array, faults if errors == "null" else self._hinted(faults, framed.values)

    def _hinted(self, faults: Sequence[Fault], values: pa.Array) -> Sequence[Fault]:
        """Return faults whose reasons say so where a value begins like another frame than the one in front of it."""
        if self._topic.config.framing not in ("prefix", "dual"):
            return faults
        return name_other_frames(faults, values, self._topic.frame)

    def _decode_rows(
        self, framed: Framed, sources: dict[Key, Source], decoder: SchemaDecoder | None, stop: bool
    ) -> tuple[pa.Array, Sequence[Fault]]:
        used = set(framed.used)
        found = [sources[key] if key in used else None for key in framed.keys]
        ruled = [None if source is None else source.ruled for source in found]
        is_ruled = any(each is not None for each in ruled)
        parts = [framed.faults, _refused(framed, found)]
        programs = [None if source is None else source.program for source in found]
        if decoder is not None and any(program is not None for program in programs):
            read = framed
            if is_ruled:
                read, closed = opened(framed, ruled, self._topic.ring)
                parts.append(_with_ids(closed, framed, found))
            array, bad = decoder.decode(
                read.values, programs, selector=read.selector, starts=read.starts, stop=stop and not is_ruled
            )
            parts.append(_with_ids(bad, framed, found))
            if is_ruled:
                array, refused = self._without_encryption(array, framed, ruled)
                parts.append(_with_ids(refused, framed, found))
        else:
            array = null_rows(len(framed), pa.null() if decoder is None else decoder.arrow_type)
        faults = joined(parts)
        unknown = ("unknown_schema_id", "registry_error")
        known = [schema_key(key) for key in used if sources[key].code not in unknown]
        self.meter.read(len(framed), known, faults[:1] if stop else faults, raised=stop)
        return array, faults

    def _without_encryption(
        self, array: pa.Array, framed: Framed, ruled: list[Ruled | None]
    ) -> tuple[pa.Array, list[Fault]]:
        """Decrypt the fields of the rows of each contract."""
        groups: dict[Ruled, list[int]] = {}
        for number, each in enumerate(ruled):
            if each is not None and each.contract.fields:
                groups.setdefault(each, []).append(number)
        if not groups:
            return array, []
        ring = self._topic.ring
        if [len(numbers) for numbers in groups.values()] == [len(framed.keys)]:
            array, faults = decrypt_fields(array, next(iter(groups)), ring)
        else:
            rows = framed.grouped(list(groups.values()))
            array, faults = decrypt_groups(array, list(zip(groups, rows, strict=True)), ring)
        return without_rows(array, faults), faults


def _with_ids(faults: Sequence[Fault], framed: Framed, sources: list[Source | None]) -> Sequence[Fault]:
    """Return faults with the schema ids of their rows."""
    if not faults:
        return faults
    found = Faults.of(faults)
    return found.with_ids(_ids(sources).take(framed.numbers(found.rows)))


def _ids(sources: list[Source | None]) -> pa.Array:
    return schema_ids([None if source is None else source.schema_id for source in sources])


def _refused(framed: Framed, sources: list[Source | None]) -> Sequence[Fault]:
    """Return the faults of rows whose key names a schema that cannot be read."""
    refused = [number for number, source in enumerate(sources) if source is not None and source.code]
    if not refused:
        return []
    rows = framed.rows(refused)
    numbers = framed.numbers(rows)
    offsets = integers([None if framed.in_header(number) else 0 for number in range(len(sources))])
    ways = [("", "", "") if source is None else ("", source.code, source.reason) for source in sources]
    return Faults(rows, offsets.take(numbers), numbers.cast(pa.int64()), ways, _ids(sources).take(numbers))
