"""What functions and data sources do first on a worker: find these packages."""

from collections.abc import Callable
from typing import Any

from kcodec import __version__


def importer(marker: str | None, version: str = __version__) -> Callable[[str], Any]:
    """Return what imports a module of these packages on a worker, of which it uses nothing itself.

    `marker` is the name of the file that marks what `ship` sent, if it sent anything.
    """

    def find(name: str) -> Any:
        from importlib import import_module

        try:
            return import_module(name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("kcodec", "kcodec_spark"):
                raise
            import sys
            from pathlib import Path

            from pyspark import SparkFiles

            # In a streaming query Spark puts what was shipped into the folder of a session made for the
            # query, but has workers look in the folder above it, and what plans the query in one beside it.
            root = Path(SparkFiles.getRootDirectory())
            roots = () if marker is None else (root, root.parent)
            places = (place for each in roots for place in each.glob(f"*/kcodec/{marker}"))
            folder = next((str(place.parents[1]) for place in places), None)
            if folder is None:
                python = f"{sys.executable}, Python {sys.version_info[0]}.{sys.version_info[1]}"
                todo = (
                    f"call kcodec_spark.ship(spark), or install kcodec=={version} for the workers ({python})"
                )
                raise ModuleNotFoundError(f"{error}: {todo}", name=error.name) from None
            sys.path.append(folder)
            return import_module(name)

    return find
