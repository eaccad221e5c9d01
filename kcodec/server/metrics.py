"""What the server counts, as Prometheus reads it."""

import os
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from kcodec.formats.schema_format import schema_types
from kcodec.registry.embedded import EmbeddedRegistry

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: The variable of the environment with the folder where the workers of a server keep their counts.
SHARED = "PROMETHEUS_MULTIPROC_DIR"

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class _Collector(MultiProcessCollector):
    """Reads the counts of all workers, except of one that is just beginning to write them or died doing so."""

    def collect(self) -> Any:
        files = [str(file) for file in Path(os.environ[SHARED]).glob("*.db") if file.stat().st_size]
        return self.merge(files, accumulate=True)  # type: ignore[no-untyped-call]


class Metrics:
    """Counts of requests by route and status, and the time they took; of all workers of a server."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "kcodec_registry_requests",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "kcodec_registry_request_seconds",
            "Time from a request to the end of its answer.",
            ("method", "route"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._counts: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._subjects = self._gauge("subjects", "Subjects of all contexts.")
        self._versions = self._gauge("versions", "Versions of all subjects.")
        self._schemas = self._gauge("schemas", "Schemas of a type.", "type")

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        name = f"kcodec_registry_{name}"
        return Gauge(name, text, labels, registry=self._registry, multiprocess_mode="mostrecent")

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        kind = method, route, status
        found = self._counts.get(kind)
        if found is None:
            labels = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            found = self._counts[kind] = labels
        found[0].inc()
        found[1].observe(seconds)

    def text(self, registry: EmbeddedRegistry) -> bytes:
        """Return all counts, and what a registry holds."""
        found = registry.counts()
        self._subjects.set(found.subjects)
        self._versions.set(found.versions)
        # A type whose last schema is gone keeps its count unless it is told.
        for kind in {*schema_types(), *found.types}:
            self._schemas.labels(kind).set(found.types.get(kind, 0))
        if SHARED not in os.environ:
            return generate_latest(self._registry)
        collected = CollectorRegistry()
        _Collector(collected)  # type: ignore[no-untyped-call]
        return generate_latest(collected)
