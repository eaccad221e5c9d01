"""Key management services, which encrypt and decrypt keys: by the drivers of confluent-kafka.

They are ``pip install kcodec[rules]``. A service is asked by a client of its own for each use, so that the credentials
of one serde are not those of another in the same process.
"""

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from kcodec.errors import KcodecError, one_line
from kcodec.registry.keys.values import Kek

_PACKAGE = "confluent_kafka.schema_registry.rules.encryption"
#: The drivers that come with confluent-kafka.
_DRIVERS = {
    "aws-kms": ("awskms.aws_driver", "AwsKmsDriver"),
    "azure-kms": ("azurekms.azure_driver", "AzureKmsDriver"),
    "gcp-kms": ("gcpkms.gcp_driver", "GcpKmsDriver"),
    "hcvault": ("hcvault.hcvault_driver", "HcVaultKmsDriver"),
    "local-kms": ("localkms.local_driver", "LocalKmsDriver"),
}
#: Further keys of a service that may be used, with commas between them.
_ALTERNATES = "encrypt.alternate.kms.key.ids"


class KeyServiceError(KcodecError):
    """A key management service that refused, failed, or cannot be asked."""


def wrap(kek: Kek, material: bytes, settings: Mapping[str, Any]) -> bytes:
    """Return a key as its service encrypts it; `KeyServiceError` if it cannot be had."""
    return _asked(kek, settings, "encrypt", material)


def unwrap(kek: Kek, encrypted: bytes, settings: Mapping[str, Any]) -> bytes:
    """Return a key that its service has encrypted.

    Raises
    ------
    KeyServiceError
        If it cannot be had.
    """
    return _asked(kek, settings, "decrypt", encrypted)


def _asked(kek: Kek, settings: Mapping[str, Any], action: str, data: bytes) -> bytes:
    """Ask the service with each key that it may have for this one, in turn."""
    properties = {**settings, **dict(kek.kms_props)}
    more = str(dict(kek.kms_props).get(_ALTERNATES) or settings.get(_ALTERNATES) or "")
    ids = [kek.kms_key_id, *(each.strip() for each in more.split(",") if each.strip())]
    failure = ""
    for key_id in ids:
        url = f"{kek.kms_type}://{key_id}"
        try:
            _register_ciphers()
            client = _driver(kek.kms_type, url).new_kms_client(properties, url)
            # A driver of the user's may answer with what are no bytes.
            return bytes(memoryview(getattr(client.get_aead(url), action)(data, b"")))
        except ImportError as error:
            needed = f"needs confluent-kafka's drivers (pip install kcodec[rules]): {error}"
            raise KeyServiceError(f"the key {kek.name} of {kek.kms_type} {needed}") from None
        except Exception as error:
            # Whatever the client of the service raises.
            failure = failure or _told(error, properties)
    raise KeyServiceError(f"{kek.kms_type} does not {action} by the key {kek.name}: {failure}") from None


@functools.cache
def _register_ciphers() -> None:
    """Register Tink's local ciphers, which some drivers need; that takes as long as a local service."""
    importlib.import_module("tink.aead").register()


def _driver(kms_type: str, url: str) -> Any:
    """Return the driver of a service: one that the application has registered, or confluent-kafka's own."""
    registered = importlib.import_module(f"{_PACKAGE}.kms_driver_registry")
    try:
        return registered.get_kms_driver(url)
    except Exception:
        # None is registered for this service.
        if kms_type not in _DRIVERS:
            raise
    module, name = _DRIVERS[kms_type]
    return getattr(importlib.import_module(f"{_PACKAGE}.{module}"), name)()


def _told(error: Exception, properties: Mapping[str, Any]) -> str:
    """Return what an error says, without what the client was configured with."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    for value in sorted(map(str, properties.values()), key=len, reverse=True):
        text = text.replace(value, "...") if value else text
    return one_line(text, 200)
