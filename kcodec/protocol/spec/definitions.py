"""Many message definitions: from a folder, a jar, or texts."""

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path

from kcodec._files import check_end
from kcodec.errors import ConfigError
from kcodec.protocol.spec.json import SpecError
from kcodec.protocol.spec.message import MessageSpec

#: Where Kafka's jars carry their definitions: those of kafka-metadata, kafka-storage and all others.
_IN_JAR = ("common/metadata/", "message/", "common/message/")

#: Bytes that a file in a jar may have, and all together. Kafka's largest has 30 thousand, all have half a million; what
#: is made of them takes ten times as much.
_MAX_SIZE, _MAX_SIZES = 1 << 20, 1 << 24


class Definitions(Mapping[str, MessageSpec]):
    """Message definitions by name.

    Parameters
    ----------
    specs : iterable of MessageSpec
        In any order; they are kept in the order of their names.
    faults : mapping of str to SpecError, optional
        Files that are wrong, by the names of their messages.

    Attributes
    ----------
    faults : dict of str to SpecError
        What is wrong with files of a folder or jar, by the name of each file without ``.json``, which is that of its
        message. Such a message is none of these; who asks for it by its name gets the error.

    Raises
    ------
    SpecError
        If two have one name, or two of one folder or jar have one type and API key. (Each module of Kafka numbers its
        metadata records by itself.)

    Examples
    --------
    >>> text = '{"type": "request", "name": "PingRequest", "apiKey": 1, "validVersions": "0", '
    >>> definitions = load([text + '"flexibleVersions": "none", "fields": []}'])
    >>> definitions["PingRequest"] is definitions.request(1)
    True
    """

    def __init__(self, specs: Iterable[MessageSpec], faults: Mapping[str, SpecError] | None = None) -> None:
        self.faults = dict(faults or {})
        self._by_name: dict[str, MessageSpec] = {}
        self._by_key: dict[tuple[str, int], list[MessageSpec]] = {}
        for spec in sorted(specs, key=lambda spec: spec.name):
            other = self._by_name.setdefault(spec.name, spec)
            if other is not spec:
                raise SpecError(
                    f"Found more than one message with name {spec.name}: {other.file or 'a text'}",
                    "duplicate_message",
                    file=spec.file,
                )
            if spec.api_key is None or spec.type == "data":
                continue
            claims = self._by_key.setdefault((spec.type, spec.api_key), [])
            for claimed in claims:
                if _module(claimed.file) == _module(spec.file):
                    raise SpecError(_claimed_twice(claimed, spec), "duplicate_api_key", file=spec.file)
            claims.append(spec)

    def __getitem__(self, name: str) -> MessageSpec:
        if name not in self and name in self.faults:
            raise self.faults[name]
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return f"Definitions({len(self)} messages)"

    def of_type(self, type: str, api_key: int) -> MessageSpec:
        """Find the message of a type by its number.

        Parameters
        ----------
        type : str
            Such as ``"request"`` or ``"metadata"``; not ``"data"``, whose numbers are not unique.
        api_key : int
            The API key or record type.

        Raises
        ------
        ConfigError
            If there is none, or several of different folders.
        """
        claims = self._by_key.get((type, api_key), [])
        if len(claims) != 1:
            names = " and ".join(spec.name for spec in claims) or "nothing"
            raise ConfigError(f"{type} with API key {api_key} is {names} in the definitions")
        return claims[0]

    def request(self, api_key: int) -> MessageSpec:
        """Find a request by its API key; raise `ConfigError` if there is none."""
        return self.of_type("request", api_key)

    def response(self, api_key: int) -> MessageSpec:
        """Find a response by its API key; raise `ConfigError` if there is none."""
        return self.of_type("response", api_key)


def _module(file: str) -> str:
    return file.rpartition("/")[0]


def _claimed_twice(claimed: MessageSpec, spec: MessageSpec) -> str:
    if spec.type in ("request", "response"):
        return f"Found more than one {spec.type} with API key {spec.api_key}"
    what = {
        "metadata": "metadata record entry",
        "coordinator-key": "coordinator record key",
        "coordinator-value": "coordinator record value",
    }.get(spec.type, spec.type)
    return f"Duplicate {what} for type {spec.api_key}. Original claimant: {claimed.name}. New claimant: {spec.name}"


def load(source: "str | PathLike[str] | Mapping[str, str] | Iterable[str | PathLike[str]]") -> Definitions:
    """Load message definitions.

    Parameters
    ----------
    source : path, text, mapping of str to str, or iterable of texts and paths
        A folder, of which all ``.json`` files at any depth are definitions; one such file; a jar of Kafka's
        (``kafka-clients``, ``kafka-group-coordinator``, ``kafka-metadata``, ...), which carries them under
        ``common/message/``, ``common/metadata/`` or ``message/``; a text, or texts by the names of their files; or
        several of these, where paths are `pathlib.Path`. Definitions of APIs that are gone, without valid versions,
        are loaded too.

    Returns
    -------
    Definitions
        Of a folder or jar, each file is read by itself: its `faults` are of those that are wrong, as those of Kafka
        before 2.4 are, which say nothing of ``flexibleVersions``.

    Raises
    ------
    SpecError
        If a text or a single file is wrong, or every file; or if two definitions contradict each other.
    ConfigError
        If there is none.

    Examples
    --------
    >>> text = '{"type": "data", "name": "Marker", "validVersions": "0", "flexibleVersions": "none", "fields": []}'
    >>> list(load(text))
    ['Marker']
    >>> load("kafka-clients-4.1.0.jar")["FetchRequest"]     # doctest: +SKIP
    """
    specs: list[MessageSpec] = []
    faults: dict[str, SpecError] = {}
    if isinstance(source, Mapping):
        specs = [MessageSpec.parse(text, file, retired=True) for file, text in source.items()]
    else:
        if isinstance(source, str) and not source.lstrip().startswith("{"):
            source = Path(source)
        for each in [source] if isinstance(source, (str, PathLike)) else source:
            if isinstance(each, str):
                specs.append(MessageSpec.parse(each, retired=True))
                continue
            for file, data in _files(Path(each)):
                try:
                    specs.append(MessageSpec.parse(_text(data, file), file, retired=True))
                except SpecError as error:
                    if file == str(each):
                        raise
                    faults[file.rpartition("/")[2].removesuffix(".json")] = error
    if not specs:
        raise next(iter(faults.values()), ConfigError(f"there are no message definitions in {source}"))
    return Definitions(specs, faults)


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    check_end(path)
    if path.is_dir():
        for each in sorted(path.rglob("*.json")):
            yield str(each), each.read_bytes()
    elif path.suffix == ".json" and path.is_file():
        yield str(path), path.read_bytes()
    elif zipfile.is_zipfile(path):
        try:
            yield from _in_jar(path)
        except SpecError:
            raise
        except (
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            EOFError,
            OSError,
            RuntimeError,
            ValueError,
        ) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from None
    else:
        raise ConfigError(f"{path} is neither a folder, nor a .json file, nor a jar")


def _in_jar(path: Path) -> Iterator[tuple[str, bytes]]:
    left = _MAX_SIZES
    with zipfile.ZipFile(path) as jar:
        for entry in sorted(jar.infolist(), key=lambda entry: entry.filename):
            if entry.filename.startswith(_IN_JAR) and entry.filename.endswith(".json"):
                file = f"{path}!{entry.filename}"
                left -= entry.file_size
                if entry.file_size > _MAX_SIZE or left < 0:
                    what = (
                        "bytes are too many"
                        if left >= 0
                        else f"bytes are beyond {_MAX_SIZES} of all definitions"
                    )
                    raise SpecError(f"{entry.file_size} {what}", "file_size", file=file)
                if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    # Python knows more, by its version, and each has errors of its own; Java knows no others in jars.
                    raise zipfile.BadZipFile(f"{entry.filename} is compressed as nothing in a jar is")
                yield file, jar.read(entry)


def _text(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SpecError(f"not JSON: {error}", "json", file=file) from None
