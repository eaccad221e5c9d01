"""What registries refuse, with the status and the code of the real server."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcodec.errors import RegistryError


@contextmanager
def refused(status: int, error_code: int, match: str | None = None) -> Iterator[None]:
    """Check that what is done inside is refused so."""
    with pytest.raises(RegistryError, match=match) as info:
        yield
    assert (info.value.status, info.value.error_code) == (status, error_code)
