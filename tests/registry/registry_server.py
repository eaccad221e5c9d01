"""A Schema Registry server on loopback over an embedded registry: enough of the API for a real client."""

import base64
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from kcodec.errors import RegistryError
from kcodec.registry import Config, Metadata, Reference, RegisteredSchema, RuleSet, Schema


def _body(found: RegisteredSchema) -> dict:
    body = {"id": found.id, "guid": found.guid, "schema": found.schema.text}
    if found.schema.type != "AVRO":
        body["schemaType"] = found.schema.type
    if found.subject is not None:
        body |= {"subject": found.subject, "version": found.version}
    if found.schema.references:
        body["references"] = [
            {"name": each.name, "subject": each.subject, "version": each.version}
            for each in found.schema.references
        ]
    if found.schema.metadata is not None:
        kept = found.schema.metadata
        body["metadata"] = {
            "properties": dict(kept.properties),
            "tags": {path: list(tags) for path, tags in kept.tags},
            "sensitive": list(kept.sensitive),
        }
    if found.schema.rules is not None:
        body["ruleSet"] = found.schema.rules.json
    return body


def _schema(body: dict) -> Schema:
    metadata = body.get("metadata")
    return Schema(
        body["schema"],
        body.get("schemaType") or "AVRO",
        tuple(Reference(**each) for each in body.get("references") or ()),
        metadata and Metadata.of(metadata.get("properties"), metadata.get("tags"), metadata.get("sensitive")),
        RuleSet.of(body["ruleSet"]) if body.get("ruleSet") else None,
    )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        parts = urlsplit(self.path)
        path = [unquote(step) for step in parts.path.strip("/").split("/")]
        query = parse_qs(parts.query)
        self.server.requests.append(f"{self.command} {parts.path}")
        try:
            if self.server.password is not None:
                expected = "Basic " + base64.b64encode(self.server.password.encode()).decode()
                if self.headers.get("Authorization") != expected:
                    raise RegistryError("Unauthorized", 401, 40101)
            status, body = 200, self._route(path, query, json.loads(content) if content else None)
        except RegistryError as error:
            status, body = error.status, {"error_code": error.error_code, "message": str(error)}
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _route(self, path: list[str], query: dict, body: dict | None):
        registry = self.server.registry
        names = ("deleted", "deletedOnly", "permanent", "normalize", "force", "defaultToGlobal")
        flag = {name: query.get(name, ["false"])[0].lower() == "true" for name in names}
        form = {"form": query.get("format", [""])[0]}
        page = {name: int(query[name][0]) for name in ("offset", "limit") if name in query}
        listed = {"deleted": flag["deleted"], "deleted_only": flag["deletedOnly"], **page}
        match (self.command, *path):
            case "GET", "subjects":
                prefix = query.get("subjectPrefix", [""])[0]
                return registry.subjects("" if prefix == ":*:" else prefix, **listed)
            case "POST", "subjects", subject:
                return _body(
                    registry.lookup(
                        subject, _schema(body), normalize=flag["normalize"], deleted=flag["deleted"]
                    )
                )
            case "DELETE", "subjects", subject:
                return registry.delete_subject(subject, permanent=flag["permanent"])
            case "GET", "subjects", subject, "versions":
                return registry.versions(subject, **listed)
            case "POST", "subjects", subject, "versions":
                found = registry.register(
                    subject,
                    _schema(body),
                    normalize=flag["normalize"],
                    schema_id=body.get("id"),
                    version=body.get("version"),
                )
                return {"id": found.id} if self.server.old else _body(found)
            case "GET", "subjects", subject, "versions", version:
                wanted = version if version == "latest" else int(version)
                return _body(registry.get_version(subject, wanted, deleted=flag["deleted"], **form))
            case "DELETE", "subjects", subject, "versions", version:
                return registry.delete_version(subject, int(version), permanent=flag["permanent"])
            case "GET", "subjects", subject, "metadata":
                wanted = dict(zip(query["key"], query["value"], strict=True))
                return _body(registry.get_latest_with_metadata(subject, wanted))
            case "GET", "subjects", subject, "versions", version, "referencedby":
                wanted = version if version == "latest" else int(version)
                return registry.referenced_by(subject, wanted, deleted=flag["deleted"])
            case "GET", "schemas", "ids", schema_id:
                return _body(registry.get(int(schema_id), query.get("subject", [None])[0], **form))
            case "GET", "schemas", "ids", schema_id, "versions":
                found = registry.schema_versions(
                    int(schema_id), query.get("subject", [None])[0], deleted=flag["deleted"]
                )
                return [each._asdict() for each in found]
            case "GET", "contexts":
                return registry.contexts()
            case "POST", "compatibility", "subjects", subject, "versions", *version:
                wanted = version[0] if version else None
                wanted = wanted if wanted in ("latest", None) else int(wanted)
                found = registry.check_compatibility(
                    subject, _schema(body), version=wanted, normalize=flag["normalize"]
                )
                return {"is_compatible": found.compatible, "messages": list(found.messages)}
            case method, "config", *subject:
                return self._config(method, subject[0] if subject else None, body, flag)
            case "GET", "mode", *subject:
                return {"mode": registry.mode(*subject, default_to_global=flag["defaultToGlobal"])}
            case "PUT", "mode", *subject:
                return {"mode": registry.set_mode(body["mode"], *subject, force=flag["force"])}
            case "DELETE", "mode", *subject:
                return {"mode": registry.delete_mode(*subject)}
            case "GET", "schemas", "guids", guid:
                return _body(registry.get_by_guid(guid, **form))
            case "GET", "associations", "resources", _, topic:
                return [{"subject": subject} for subject in self.server.associations.get(topic, ())]
        raise RegistryError("HTTP 404 Not Found", 404, 404)

    def _config(self, method: str, subject: str | None, body: dict | None, flag: dict) -> dict:
        registry = self.server.registry
        if method == "PUT":
            return registry.set_config(Config.of(body), subject).json
        if method == "DELETE":
            found = registry.delete_config(subject).json
        else:
            found = registry.config(subject, default_to_global=flag["defaultToGlobal"]).json
        if "compatibility" in found:
            found["compatibilityLevel"] = found.pop("compatibility")
        return found

    do_GET = do_POST = do_DELETE = do_PUT = _answer

    def log_message(self, *arguments) -> None:
        pass


@contextmanager
def serve(registry, *, password=None, old=False):
    """Serve a registry on a free port; gives the server, with its ``url`` and the ``requests`` it has had."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.registry, server.password, server.old = registry, password, old
    server.requests, server.associations = [], {}
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
