"""What the server is told at its start."""

import pytest
from cases import cases

from kcodec.cli.main import main
from kcodec.errors import ConfigError
from kcodec.server.settings import ServerSettings


@pytest.mark.parametrize("name", ["key", "key_password", "client_authority"])
def test_tls_has_a_certificate(name):
    with pytest.raises(ConfigError, match=f"{name} needs a certificate"):
        ServerSettings(**{name: "file.pem"})


@cases(
    ("name", "value"),
    [
        ("port", -1),
        ("port", 65536),
        ("max_body", 0),
        ("max_schema", -1),
        ("max_references", -1),
        ("max_connections", 0),
        ("timeout", 0),
        ("idle_timeout", -1.5),
        ("timeout", float("nan")),
    ],
)
def test_numbers_are_within_bounds(name, value):
    with pytest.raises(ConfigError, match=f"{name}={value} is out of range"):
        ServerSettings(**{name: value})


def test_the_command_says_so(capsys):
    assert main(["registry", "serve", "memory://", "--client-authority", "file.pem"]) == 2
    assert "client_authority needs a certificate" in capsys.readouterr().err
