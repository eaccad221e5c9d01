"""How a serde of confluent-kafka is made quick: it handles the first value of each kind itself, we the others.

Its own code chooses subjects, registers and fetches schemas, and raises what is wrong with all that. What came of it is
kept: for a subject what writes its values, for a prefix what reads the values behind it. Values that ours does not
take, and all that needs more than bytes and objects (rules, migrations, ids in headers), go to its own code again.
"""

import enum
import io
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka.serialization import MessageField

try:
    from confluent_kafka.schema_registry import prefix_schema_id_serializer
    from confluent_kafka.schema_registry.common import serde as common
except ImportError:
    # Another release than those this was made for: its own code does everything.
    prefix_schema_id_serializer = common = None

#: In the place of what writes or reads: their code does.
THEIRS: Any = object()

#: Bytes of a prefix by its first one: behind it stands a schema id, or a GUID.
_PREFIX_BYTES = {0: 5, 1: 17}
#: Members of an enum take long to find, and to hash.
VALUE = MessageField.VALUE
_KEY = MessageField.KEY
_HEADERS = {_KEY: "__key_schema_id", VALUE: "__value_schema_id"}

#: What is kept, of each serde.
_MOST = 10_000

#: What is used of their serdes beyond their public names; in a release that has others, their code does everything.
_USED = (
    "_get_reader_schema",
    "_registry",
    "_subject_name_conf",
    "_subject_name_func",
    "_strategy_accepts_client",
    "_use_latest_version",
    "_use_latest_with_metadata",
)


def given(*arguments: Any) -> tuple[Any, ...]:
    """Return arguments without those at the end that are None, which an older release may not have.

    >>> given("url", None, {}, None, None)
    ('url', None, {})
    """
    used = len(arguments)
    while used and arguments[used - 1] is None:
        used -= 1
    return arguments[:used]


def _held(value: Any) -> Any:
    """Return a value in which UUIDs, and members of an `enum.Enum`, are what they hold; itself if it has none.

    >>> _held({"ids": [uuid.UUID(int=10)]})
    {'ids': ['00000000-0000-0000-0000-00000000000a']}
    """
    if isinstance(value, dict):
        made = {name: _held(each) for name, each in value.items()}
        return made if any(made[name] is not each for name, each in value.items()) else value
    if isinstance(value, list):
        items = [_held(each) for each in value]
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    if isinstance(value, enum.Enum):
        return value.value
    return str(value) if isinstance(value, uuid.UUID) else value


class _Once:
    """A function of the user's that is called once for a value, though we and then their code ask what it makes."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self._function = function
        self._known = threading.local()

    def __call__(self, value: Any, ctx: Any) -> Any:
        pair = getattr(self._known, "pair", None)
        return pair[1] if pair is not None and pair[0] is value else self._function(value, ctx)

    @contextmanager
    def again(self, value: Any, made: Any) -> Iterator[None]:
        """Give what was made of a value, in this thread, in place of calling the function."""
        self._known.pair = value, made
        try:
            yield
        finally:
            self._known.pair = None


class _Quick:
    """What both directions share; mixed into classes of confluent-kafka."""

    def _start(self, conf: dict[str, Any] | None, *used: str) -> None:
        """Begin with nothing known."""
        self._kept: dict[Any, Any] = {}
        self._subjects: dict[tuple[str, str], str | None] = {}
        self._value_subjects: dict[str, str | None] = {}
        conf = conf or {}
        self._is_quick = (
            hasattr(common, "SchemaId")
            and all(hasattr(self, name) for name in (*_USED, *used))
            and "rule_conf" not in conf
        )
        self._asks = (
            getattr(self, "_use_schema_id", None) is not None
            or getattr(self, "_use_latest_version", False)
            or getattr(self, "_use_latest_with_metadata", None) is not None
        )
        # Any function may look at all that a context has, and think anew each time.
        self._has_own_strategy = conf.get("subject.name.strategy") is not None

    def _keep(self, kept: dict[Any, Any], key: Any, made: Any) -> Any:
        if len(kept) >= _MOST:
            kept.clear()
        kept[key] = made
        return made

    def _subject(self, ctx: Any, name: str | None) -> str | None:
        """Return the subject as their code names it."""
        serde: Any = self
        subjects: dict[Any, str | None] = self._subjects
        place = ctx.topic
        if ctx.field is VALUE:
            subjects = self._value_subjects
        else:
            place = place, ctx.field
        if place in subjects and not self._has_own_strategy:
            return subjects[place]
        if serde._strategy_accepts_client:
            found = serde._subject_name_func(ctx, name, serde._registry, serde._subject_name_conf)
        else:
            found = serde._subject_name_func(ctx, name)
        return self._keep(subjects, place, found)

    def _note(self, key: Any, ctx: Any) -> None:
        """Tell their code the key of the message: rules of its value may send both to another topic."""
        if ctx is not None and ctx.field == _KEY and hasattr(common, "set_original_key"):
            common.set_original_key(key)

    def _latest(self, subject: str, fmt: str | None = None) -> Any:
        """Return the version that settings ask for, which may be another one by now; None if they do not."""
        serde: Any = self
        return serde._get_reader_schema(subject, fmt) if self._asks else None


class QuickSerializer(_Quick):
    """A serializer that keeps, for each subject, what writes its values; mixed into those of confluent-kafka."""

    def _start(self, conf: dict[str, Any] | None, *used: str) -> None:
        super()._start(conf, *used)
        chosen = (conf or {}).get("schema.id.serializer", prefix_schema_id_serializer)
        # Rules that stand in the schema itself are run by their code.
        has_rules = hasattr(self, "_validation_enabled") and self._validation_enabled()
        self._is_quick = self._is_quick and chosen is prefix_schema_id_serializer and not has_rules
        if self._is_quick and getattr(self, "_to_dict", None) is not None:
            self._to_dict: Any = _Once(self._to_dict)

    def _by_theirs(self, obj: Any, value: Any, ctx: Any) -> Any:
        """Have their code write an object, of which a value was made already.

        What it refuses is tried as what its UUIDs and enumerations hold, which ours takes: whether a value is the first
        of its kind, which theirs writes, is not to matter.
        """
        try:
            return self._given_to_theirs(obj, value, ctx)
        except Exception:
            held = _held(value)
            if held is value:
                raise
        return self._given_to_theirs(obj, held, ctx)

    def _given_to_theirs(self, obj: Any, value: Any, ctx: Any) -> Any:
        serde: Any = super()
        if self._to_dict is None:
            return serde.__call__(value, ctx)
        with self._to_dict.again(obj, value):
            return serde.__call__(obj, ctx)


class QuickDeserializer(_Quick):
    """A deserializer that keeps, for each prefix, what reads the values behind it; see `QuickSerializer`."""

    def _start(self, conf: dict[str, Any] | None, *used: str) -> None:
        super()._start(conf, "_get_writer_schema", *used)
        self._is_quick = self._is_quick and "schema.id.deserializer" not in (conf or {})

    def _prefix(self, data: Any, ctx: Any) -> bytes:
        """Return the prefix that names the schema of a value; nothing if their code is to read it."""
        if not self._is_quick or type(data) is not bytes or len(data) < 6:
            return b""
        if ctx is not None and ctx.headers:
            name = _HEADERS.get(ctx.field)
            headers = ctx.headers
            if name in ({*headers} if isinstance(headers, dict) else {each[0] for each in headers}):
                return b""
        return data[: _PREFIX_BYTES.get(data[0], 0)]

    def _written(self, prefix: bytes, kind: str, subject: str | None, fmt: str | None = None) -> Any:
        """Return the schema that a prefix names, which their code has fetched."""
        named = common.SchemaId(kind)
        if prefix[0]:
            named.from_bytes(io.BytesIO(prefix + b"\0"))
        else:
            named.id = int.from_bytes(prefix[1:5], "big")
        serde: Any = self
        return serde._get_writer_schema(named, subject, fmt)
