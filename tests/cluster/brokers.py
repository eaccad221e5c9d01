"""Three brokers on this machine, each also a controller, each behind a proxy, in a rack of its own."""

import base64
import os
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

from artifacts import SPARK_JAVA, artifacts, java, ready_classes
from ports import HOST, free_port
from processes import Service, listens
from proxy import Proxy

NUMBERS = (1, 2, 3)

# A leader that is away is replaced after four seconds, one that lags leaves the replicas in sync after three.
_SETTINGS = """\
process.roles=broker,controller
node.id={number}
broker.rack=rack-{number}
controller.quorum.voters={voters}
listeners=CLIENT://{host}:{port},BROKER://{host}:{inner},CONTROLLER://{host}:{controller}
advertised.listeners=CLIENT://{host}:{proxy},BROKER://{host}:{inner}
controller.listener.names=CONTROLLER
inter.broker.listener.name=BROKER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT,BROKER:PLAINTEXT
log.dirs={folder}/data
default.replication.factor=3
min.insync.replicas=2
replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=1000
replica.lag.time.max.ms=3000
controller.quorum.election.timeout.ms=1000
controller.quorum.fetch.timeout.ms=2000
offsets.topic.replication.factor=3
offsets.topic.num.partitions=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
transaction.state.log.num.partitions=3
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.segment.delete.delay.ms=1000
delete.topic.enable=true
"""


class Broker:
    """One of them: its process, and the proxy that clients know it by."""

    def __init__(self, number: int, service: Service, proxy: Proxy) -> None:
        self.number = number
        self.service = service
        self.proxy = proxy

    def pause(self) -> None:
        os.kill(self.service.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.service.pid, signal.SIGCONT)


class Brokers:
    """All three; to be started, and closed."""

    def __init__(self, folder: Path, heap: str = "256m") -> None:
        ports = {n: [free_port() for _ in range(4)] for n in NUMBERS}
        voters = ",".join(f"{n}@{HOST}:{ports[n][2]}" for n in NUMBERS)
        for n, (port, inner, controller, proxy) in ports.items():
            place = folder / str(n)
            place.mkdir()
            text = _SETTINGS.format(
                number=n,
                voters=voters,
                host=HOST,
                port=port,
                inner=inner,
                controller=controller,
                proxy=proxy,
                folder=place,
            )
            (place / "server.properties").write_text(text)
        run = java(SPARK_JAVA)
        command = [
            run,
            f"-Xmx{heap}",
            *ready_classes(run, artifacts() / "broker.jsa"),
            "-cp",
            f"{artifacts() / 'broker'}/*",
        ]
        _format(folder, command)
        self.all = {
            n: Broker(
                n,
                Service(
                    f"broker-{n}",
                    folder / str(n),
                    [*command, "kafka.Kafka", str(folder / str(n) / "server.properties")],
                    lambda port=ports[n][0]: listens(port),
                ),
                Proxy(ports[n][3], ports[n][0]),
            )
            for n in NUMBERS
        }
        self.address = ",".join(f"{HOST}:{ports[n][3]}" for n in NUMBERS)

    def __getitem__(self, number: int) -> Broker:
        return self.all[number]

    def __iter__(self) -> Iterator[Broker]:
        return iter(self.all.values())

    def start(self) -> None:
        for each in self:
            each.service.launch()
        for each in self:
            each.service.await_ready()

    def close(self) -> None:
        for each in self:
            each.service.kill()
            each.proxy.close()


def _format(folder: Path, command: list[str]) -> None:
    """Format the folder of the first broker; those of the others are the same but for their numbers and names."""
    cluster = _name()
    formatted = subprocess.run(
        [
            *command,
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={cluster}",
            "-c",
            str(folder / "1" / "server.properties"),
        ],
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if formatted.returncode:
        raise RuntimeError(f"a broker's folder could not be formatted:\n{formatted.stdout}")
    for n in NUMBERS[1:]:
        shutil.copytree(folder / "1" / "data", folder / str(n) / "data")
        known = folder / str(n) / "data" / "meta.properties"
        lines = [
            f"node.id={n}"
            if line.startswith("node.id=")
            else f"directory.id={_name()}"
            if line.startswith("directory.id=")
            else line
            for line in known.read_text().splitlines()
        ]
        known.write_text("\n".join(lines) + "\n")


def _name() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
