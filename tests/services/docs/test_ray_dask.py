"""The page of Ray Data and Dask, in an environment that has these."""

import os
import shutil
import tempfile
import uuid

import pytest
from artifacts import had, python
from doc_pages import ROOT, blocks
from processes import run

PAGE = ROOT / "docs" / "howto" / "ray_dask.md"


@pytest.fixture
def sockets():
    """Make a folder with a short name: there is a limit to names of sockets, which Ray makes within it."""
    made = tempfile.mkdtemp(prefix="ray")
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.mark.thorough
@pytest.mark.parametrize("registry_url", ["own_server"], indirect=True)
def test_ranges_are_read_in_tasks(kafka, registry_url, packages, sockets, tmp_path):
    environment = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "PYTHONPATH": str(packages),
        "RAY_TMPDIR": sockets,
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    script = "\n".join(blocks(PAGE))
    for there, here in (
        ("http://registry:8081", registry_url),
        ("broker:9092", kafka.address),
        ('"orders-in-parts"', f'"in-parts-{uuid.uuid4().hex[:6]}"'),
    ):
        assert there in script
        script = script.replace(there, here)
    # Workers would import a file again.
    run(had(lambda: python("ray-dask")), "-c", script, env=environment, cwd=tmp_path)
