"""What all tests of confluent-kafka's clients share."""

import functools
import ssl

import pytest

one_context = functools.cache(ssl.create_default_context)


# Not for the session: others change the context that they get.
@pytest.fixture(scope="module", autouse=True)
def one_tls_context():
    """Certificates are loaded once, not for each client: that takes ten times as long as all else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", one_context)
        yield
