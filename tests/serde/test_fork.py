"""Children forked in the middle of other threads' work."""

import subprocess
import sys

import pytest
from registry_server import serve
from tries import tries

from kcodec.registry import Schema
from kcodec.registry.memory import MemoryRegistry
from kcodec.registry.sqlite import SqliteRegistry

SCRIPT = """
import faulthandler, logging, os, sys, threading, time, warnings
import pyarrow as pa
import kcodec
from kcodec import registry
from kcodec.registry import Schema

logging.getLogger("kcodec").setLevel(logging.ERROR)
warnings.simplefilter("ignore", DeprecationWarning)  # of forking where threads run
url, forks = sys.argv[1], int(sys.argv[2])
handle = registry.open(url)
if url.startswith("memory"):
    for number in range(50):
        handle.register(f"s{number}", Schema('{"type": "fixed", "name": "F%d", "size": 1}' % number))
values = [b"\\0" + number.to_bytes(4, "big") + b"x" for number in range(1, 51)]
shared = kcodec.Serde("AVRO", handle, topic="t")
stop = False

def use():
    # New ids and new types: all locks are in use.
    fresh = kcodec.Serde("AVRO", handle, topic="t", reader_schema="id:1")
    fresh.deserialize(values, errors="null")
    shared.deserialize(values + [b"\\0\\xff\\xff\\xff\\xff"], errors="null")
    shared.serialize(pa.array([1, 2]))

# What is first used imports modules and makes Arrow's functions, and locks of Python and Arrow stay held in a child.
use()

def work():
    while not stop:
        use()

def child():
    faulthandler.dump_traceback_later(20, exit=True)
    fresh = kcodec.Serde("AVRO", handle, topic="t", reader_schema="id:1")
    assert fresh.deserialize(values, errors="null").null_count < 50
    assert shared.deserialize(values[:1]).null_count == 0
    assert shared.serialize(pa.array([1, 2])).null_count == 0

threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
for thread in threads:
    thread.start()
bad = 0
for _ in range(forks):
    time.sleep(0.002)
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            child()
            status = 0
        except BaseException as error:
            print(type(error).__name__, error, file=sys.stderr)
        finally:
            os._exit(status)
    bad += os.waitpid(pid, 0)[1] != 0
stop = True
for thread in threads:
    thread.join()
print(bad)
"""


def run(url):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, url, str(min(tries(60), 30))],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert (done.stdout.strip(), done.stderr) == ("0", "")


def filled(registry):
    for number in range(50):
        registry.register(f"s{number}", Schema(f'{{"type": "fixed", "name": "F{number}", "size": 1}}'))
    return registry


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["memory", "sqlite", "http"])
def test_children_find_no_lock_held(kind, tmp_path):
    if kind == "memory":
        run("memory://fork")
    elif kind == "sqlite":
        place = tmp_path / "schemas.db"
        filled(SqliteRegistry(place)).close()
        run(f"sqlite:///{place}")
    else:
        with serve(filled(MemoryRegistry())) as server:
            run(server.url)
