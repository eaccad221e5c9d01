"""Bearer tokens: who issues them, and what becomes of requests where there is none."""

import base64
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from http_answers import answering, whole
from shop_schemas import INT

from kcodec import registry as registries
from kcodec.errors import RegistryError

SCHEMA = whole(200, b'{"schema": "\\"int\\""}')


def failure(url, config):
    handle = registries.open(url, {"max.retries": 0, **config})
    with pytest.raises(RegistryError) as info:
        handle.get(7)
    handle.close()
    return info.value


def issued_by(endpoint):
    """Return the settings for tokens of an endpoint."""
    return {
        "bearer.auth.credentials.source": "OAUTHBEARER_AZURE_IMDS",
        "bearer.auth.issuer.endpoint.url": endpoint,
    }


def test_headers_of_bearer_tokens():
    config = {
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": "abc",
        "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.identity.pool.id": ["one", "two"],
    }
    with answering(SCHEMA) as server:
        assert registries.open(server.url, config).get(1).schema == INT
        _, headers, _ = server.seen[0]
    assert headers["Authorization"] == "Bearer abc"
    assert headers["target-sr-cluster"] == "lsrc-1"
    assert headers["Confluent-Identity-Pool-Id"] == "one,two"


def test_a_token_is_asked_for_once_while_it_lasts():
    token = whole(200, b'{"access_token": "t-1", "expires_in": 3600}')
    with answering(token) as issuer, answering(SCHEMA) as server:
        config = {
            "bearer.auth.credentials.source": "OAUTHBEARER",
            "bearer.auth.client.id": "client",
            "bearer.auth.client.secret": "s3cret",
            "bearer.auth.scope": "schemas",
            "bearer.auth.issuer.endpoint.url": f"{issuer.url}/oauth2/token",
        }
        handle = registries.open(server.url, config)
        assert [handle.get(number).schema for number in (1, 2)] == [INT, INT]
        assert len(issuer.seen) == 1
        path, headers, body = issuer.seen[0]
        assert (path, body) == ("/oauth2/token", b"grant_type=client_credentials&scope=schemas")
        assert headers["Authorization"] == "Basic " + base64.b64encode(b"client:s3cret").decode()
        assert [seen[1]["Authorization"] for seen in server.seen] == ["Bearer t-1"] * 2
        handle.close()


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"access_token": "x", "expires_in": "soon"}', b"7"])
def test_no_token(body):
    with answering(whole(200, body)) as issuer, answering(SCHEMA) as server:
        error = failure(server.url, issued_by(issuer.url))
        assert "no token" in str(error)
        assert not error.missing
        assert not server.seen


@pytest.mark.parametrize(
    ("status", "body", "told"),
    [
        (400, b'{"error": "invalid_scope", "error_description": "..."}', ": invalid_scope"),
        (401, b'{"error": 7}', ""),
        (302, b"", " (is it at https://elsewhere/?)"),
        (201, b"<html>log in</html>", ""),
        (418, b'{"access_token": "t-1"}', ""),
    ],
)
def test_why_there_is_no_token(status, body, told):
    with answering(whole(status, body, Location="https://elsewhere/")) as issuer:
        error = failure("http://127.0.0.1:1", issued_by(issuer.url))
    assert (str(error), error.status) == (f"{issuer.url}: HTTP {status}, and no token{told}", status)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_who_issues_tokens_is_asked_again(status):
    """As a registry is that answers so, with a token or without one."""
    answers = [whole(status, b'{"access_token": "t-0"}')] * 2 + [whole(200, b'{"access_token": "t-1"}')]
    with answering(lambda handler: answers.pop(0)(handler)) as issuer, answering(SCHEMA) as server:
        config = issued_by(issuer.url)
        error = failure(server.url, config)
        assert str(error).startswith(f"{server.url}: no token from {issuer.url}: HTTP {status} (after")
        handle = registries.open(server.url, {**config, "max.retries": 1, "retries.wait.ms": 1})
        assert handle.get(1).schema == INT
        handle.close()
    assert [seen[1]["Authorization"] for seen in server.seen] == ["Bearer t-1"]


def test_threads_wait_for_a_token_together():
    """One after the other, each would wait for as long as the issuer may take."""
    awaited = threading.Event()
    with answering(lambda handler: awaited.wait(30)) as issuer:
        handle = registries.open(
            "http://127.0.0.1:1", {**issued_by(issuer.url), "timeout": 0.5, "max.retries": 0}
        )

        def asked(number):
            with pytest.raises(RegistryError) as info:
                handle.get(number)
            return info.value

        start = time.monotonic()
        with ThreadPoolExecutor(12) as pool:
            errors = list(pool.map(asked, range(1, 13)))
        assert time.monotonic() - start < 4
        assert all(f"no token from {issuer.url}: timed out (" in str(error) for error in errors)
        awaited.set()
        handle.close()
