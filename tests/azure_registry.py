"""Azure's Schema Registry on loopback: answers as the service gave them to Azure's own client.

Paths, status codes, headers and texts of errors are those that the tests of Azure's client were recorded with
(api-version 2022-10, ``azure-sdk-for-python``, ``sdk/schemaregistry``); the list of versions is as the API's
description has it.
"""

import json
import re
import ssl
import subprocess
import time
import uuid
from contextlib import contextmanager
from urllib.parse import parse_qs, unquote, urlsplit

from azure.core.credentials import AccessToken
from azure.schemaregistry import SchemaRegistryClient
from http_answers import answering, send

GROUP = "shop"
_TOKEN = "token-of-the-tests"
_SCHEMA = re.compile(r"/\$schemaGroups/([^/]+)/schemas/([^/:]+)(:get-id|/versions|/versions/(\d+))?")
_BY_ID = re.compile(r"/\$schemaGroups/\$schemas/([^/]+)")
_WRITTEN = re.compile(r"application/json; serialization=(Avro|Json)")


class Credential:
    """A credential of a user's own."""

    def __init__(self, token=_TOKEN):
        self.token = token

    def get_token(self, *scopes, **options):
        assert scopes == ("https://eventhubs.azure.net/.default",)
        return AccessToken(self.token, int(time.time()) + 3600)


class Azure:
    """A server with one group of schemas, and the token that it wants."""

    def __init__(self, place, certificate):
        self.place = place
        self.certificate = certificate
        self.url = f"azure://{place}/{GROUP}"
        #: By name, for each version its id, format and text.
        self.schemas = {}
        self.asked = []
        #: What the next requests are answered with, instead of what they ask for.
        self.failures = []
        #: Of JSON Schemas, which the service has had two of.
        self.json_type = "application/json; serialization=Json"
        self.per_page = 100

    def known_by(self, patch):
        """Set the environment of those who are to find it: its authority, and the credentials of Azure's chain."""
        patch.setenv("REQUESTS_CA_BUNDLE", str(self.certificate))
        patch.setenv("IDENTITY_ENDPOINT", f"https://{self.place}/token")
        patch.setenv("IDENTITY_HEADER", "of-the-tests")
        patch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        for name in ("AZURE_CLIENT_ID", "AZURE_TENANT_ID", "IDENTITY_SERVER_THUMBPRINT", "IMDS_ENDPOINT"):
            patch.delenv(name, raising=False)

    def client(self):
        """Make a client of Azure's own."""
        return SchemaRegistryClient(self.place, Credential(), retry_total=0)

    def answer(self, method, target, headers, body):
        """Return status, headers and body."""
        place = urlsplit(target)
        query = parse_qs(place.query)
        self.asked.append((method, place.path))
        if place.path == "/token":
            # The managed identity of an App Service.
            assert headers["X-IDENTITY-HEADER"] == "of-the-tests"
            assert query["resource"] == ["https://eventhubs.azure.net"]
            told = {
                "access_token": _TOKEN,
                "expires_on": str(int(time.time()) + 3600),
                "token_type": "Bearer",
            }
            return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
        assert query["api-version"] == ["2022-10"]
        if self.failures:
            return self._refused(place.path, *self.failures.pop(0))
        if headers["Authorization"] != f"Bearer {_TOKEN}":
            return self._refused(place.path, 401, "Unauthorized", "InvalidIssuer: Token issuer is invalid.")
        path = unquote(place.path)
        if method == "GET" and (found := _BY_ID.fullmatch(path)):
            if not re.fullmatch("[0-9a-f]{32}", found[1]):
                text = "SubCode=40000, UnknownType:The request is invalid. [MGResponseHttpError=BadRequest]."
                return self._refused(place.path, 400, "InvalidRequest", text)
            for name, versions in self.schemas.items():
                for number, version in enumerate(versions, 1):
                    if version[0] == found[1]:
                        return self._told(name, number, with_text=True)
            return self._missing(place.path, f"Schema id {found[1]}")
        found = _SCHEMA.fullmatch(path)
        group, name, what, number = found.groups()
        versions = self.schemas.get(name, [])
        if group != GROUP:
            return self._missing(place.path, f"Schema group {group}")
        if method == "GET" and number:
            if int(number) > len(versions):
                return self._missing(place.path, f"Schema {group}/{name}/ver.{number}")
            return self._told(name, int(number), with_text=True)
        if method == "GET" and what == "/versions":
            if not versions:
                return self._missing(place.path, f"Schema {group}/{name}")
            first = int(query.get("skip", ["0"])[0])
            told = {"Value": list(range(first + 1, len(versions) + 1))[: self.per_page]}
            if first + self.per_page < len(versions):
                told["NextLink"] = f"https://{self.place}{place.path}?skip={first + self.per_page}"
            return 200, {"Content-Type": "application/json"}, json.dumps(told).encode()
        assert (method, what) in (("PUT", None), ("POST", ":get-id"))
        format = _WRITTEN.fullmatch(headers["Content-Type"])[1]
        if not body:
            text = "Error when consuming request body: The body of the message cannot be read because it is empty."
            return self._refused(place.path, 400, "InvalidRequest", text)
        for number, version in enumerate(versions, 1):
            if version[1:] == (format, body):
                return self._told(name, number)
        if method == "POST":
            return self._missing(place.path, f"Schema {group}/{name}")
        self.schemas.setdefault(name, []).append((uuid.uuid4().hex, format, body))
        return self._told(name, len(self.schemas[name]))

    def _told(self, name, number, with_text=False):
        schema_id, format, text = self.schemas[name][number - 1]
        at = f"https://{self.place}/$schemagroups"
        headers = {
            "Location": f"{at}/{GROUP}/schemas/{name}/versions/{number}?api-version=2022-10",
            "Schema-Group-Name": GROUP,
            "Schema-Id": schema_id,
            "Schema-Id-Location": f"{at}/$schemas/{schema_id}?api-version=2022-10",
            "Schema-Name": name,
            "Schema-Version": str(number),
            "Schema-Versions-Location": f"{at}/{GROUP}/schemas/{name}/versions?api-version=2022-10",
            "Server": "Microsoft-HTTPAPI/2.0",
        }
        if not with_text:
            return 204, headers, b""
        kinds = {"Avro": "application/json; serialization=Avro", "Json": self.json_type}
        kind = kinds.get(format, "text/plain; charset=utf-8")
        return 200, {**headers, "Content-Type": kind}, text

    def _missing(self, path, what):
        return self._refused(path, 404, "ItemNotFound", f"{what} does not exist.")

    def _refused(self, path, status, code, text):
        traced = f"{text} TrackingId:{uuid.UUID(int=7)}_G9, SystemTracker:{self.place}:{path[1:]}"
        # Without Retry-After, which has the client of Azure ask again whatever the status is, and wait in between.
        headers = {"Content-Type": "application/json", "x-ms-error-code": code}
        return status, headers, json.dumps({"error": {"code": code, "message": traced}}).encode()


@contextmanager
def azure_server(folder, patch):
    """Serve over TLS; the environment has its authority, and the credentials that Azure's chain finds."""
    key, certificate = folder / "azure-key.pem", folder / "azure.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
            *("-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=azure"),
            *("-addext", "subjectAltName=IP:127.0.0.1"),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    def answer(handler):
        told = made.answer(handler.command, handler.path, handler.headers, handler.content)
        send(handler, *told)

    with answering(answer, tls=context) as server:
        made = Azure(server.url.removeprefix("https://"), certificate)
        made.known_by(patch)
        yield made
