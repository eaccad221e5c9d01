"""The requests that are made of brokers, and their responses, in the versions that are spoken.

Beside this file there is a definition of each, as Kafka writes them. The versions are those that every broker from 1.0
to 4.x understands, without compact forms, and further ones of metadata and fetches, which name topics by their ids.
Fetch responses and produce requests, which hold record sets, are not read and written by these definitions, but in
`fetching.fetch_response` and `writing.producer`.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.parse import parse

__all__ = ["definitions"]

_FOLDER = Path(__file__).parent


@cache
def definitions() -> Definitions:
    """Return the definitions of all requests and responses."""
    return _Spoken()


class _Spoken(Definitions):
    """The definitions beside this file. Each is read when it is first asked for: a client needs few of them."""

    def __init__(self) -> None:
        super().__init__(())

    def __getitem__(self, name: str) -> MessageSpec:
        if name not in self._by_name:
            file = f"{name}.json"
            try:
                text = (_FOLDER / file).read_text("utf-8")
            except OSError:
                raise KeyError(name) from None
            # Not checked by all rules of Kafka's generator at every start: the tests do that.
            self._by_name[name] = parse(text, file, MessageSpec)
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return name in _names()

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())

    def of_type(self, type: str, api_key: int) -> MessageSpec:
        """Find a request or response by its API key; see `Definitions.of_type`."""
        # Those that have been read come first: whoever asks for a response has sent its request.
        for name in (*self._by_name, *self):
            api, is_request, _ = name.partition("Request")
            if is_request and self[name].api_key == api_key:
                return self[f"{api}{type.capitalize()}"]
        return super().of_type(type, api_key)


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))
