"""``kcodec registry serve`` as a process of its own, and what it answers."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

from ports import HOST, free_port


def asked(url, method="GET", body=None, context=None, headers=None):
    """Return the status and the JSON of an answer."""
    data = None if body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    request = urllib.request.Request(url, data, given, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


class Command:
    """``kcodec registry serve`` as a process."""

    def __init__(self, folder, *options):
        self.folder, self.port = folder, free_port()
        self.url = f"http://{HOST}:{self.port}"
        self.options = [f"--port={self.port}", *options]
        self.process = None

    def start(self):
        command = [sys.executable, "-m", "kcodec.cli.main", "registry", "serve", *self.options]
        self.log = (self.folder / "log").open("ab")
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=self.log,
            stderr=self.log,
            start_new_session=True,
        )
        end = time.monotonic() + 60
        while True:
            with suppress(OSError):
                if asked(f"{self.url}/health")[0] == 200:
                    return
            assert self.process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < end
            time.sleep(0.05)

    def kill(self):
        """Kill it and its workers, as a machine does that stops."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()

    def stop(self):
        self.process.terminate()
        status = self.process.wait(30)
        self.log.close()
        return status


@contextmanager
def command(folder, *options):
    made = Command(folder, *options)
    made.start()
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.kill()
