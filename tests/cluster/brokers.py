"""Three brokers on this machine, each also a controller, each behind a proxy, in a rack of its own."""

import os
import shutil
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

from artifacts import SPARK_JAVA, artifacts, java, ready_classes
from ports import HOST, free_port
from processes import Service, format_folder, listens, new_name
from proxy import Proxy

NUMBERS = (1, 2, 3)
#: The user of the listener with TLS, and the password that it has at first.
USER, PASSWORD = "client", "first-password"
#: Of the older brokers that there may be: the version of metadata that they and the newer ones understand.
_OLDER = "4.1"
#: As of all else here, of a machine that is busy with other work, too.
_READY_SECONDS = 400

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
log.dirs={data}/data
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

#: Another listener, whose certificate and passwords can be replaced.
_SECURED = """
listeners=CLIENT://{host}:{port},BROKER://{host}:{inner},CONTROLLER://{host}:{controller},SECURED://{host}:{secured}
advertised.listeners=CLIENT://{host}:{proxy},BROKER://{host}:{inner},SECURED://{host}:{secured_proxy}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENT:PLAINTEXT,BROKER:PLAINTEXT,SECURED:SASL_SSL
listener.name.secured.ssl.keystore.type=PEM
listener.name.secured.ssl.keystore.location={keystore}
listener.name.secured.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.secured.scram-sha-512.sasl.jaas.config=\
  org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


class Broker:
    """One of them: its process, and the proxies that clients know it by, the second one that of TLS."""

    def __init__(
        self, number: int, folder: Path, port: int, proxies: list[Proxy], jars: Path, heap: str
    ) -> None:
        self.number = number
        self.port = port
        self.proxy, *others = proxies
        self.secured = others[0] if others else None
        self._folder = folder
        self._heap = heap
        self.take(jars)

    def take(self, jars: Path) -> None:
        """Run from other jars when it is started the next time."""
        self.jars = jars
        command = [*_java(jars, self._heap), "kafka.Kafka", str(self._folder / "server.properties")]
        self.service = Service(
            f"broker-{self.number}", self._folder, command, lambda: listens(self.port), seconds=_READY_SECONDS
        )

    def pause(self) -> None:
        os.kill(self.service.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.service.pid, signal.SIGCONT)


class Brokers:
    """All three; to be started, and closed.

    `disks` are where the data of some are, `keystore` is that of a listener with TLS and passwords, and `older` are the
    jars of an older Kafka, with which they can be started, too.
    """

    def __init__(
        self,
        folder: Path,
        heap: str = "256m",
        *,
        disks: Mapping[int, Path] = {},
        keystore: Path | None = None,
        older: Path | None = None,
    ) -> None:
        names = ("port", "inner", "controller", "proxy", "secured", "secured_proxy")
        ports = {n: {name: free_port() for name in names} for n in NUMBERS}
        voters = ",".join(f"{n}@{HOST}:{ports[n]['controller']}" for n in NUMBERS)
        text = _SETTINGS if keystore is None else _SETTINGS + _SECURED
        data = {n: disks.get(n, folder / str(n)) for n in NUMBERS}
        for n in NUMBERS:
            place = folder / str(n)
            place.mkdir()
            found = text.format(
                number=n, voters=voters, host=HOST, data=data[n], keystore=keystore, **ports[n]
            )
            (place / "server.properties").write_text(found)
        self.newer, self.older = artifacts() / "broker", older
        options = [] if keystore is None else [f"--add-scram=SCRAM-SHA-512=[name={USER},password={PASSWORD}]"]
        options += [] if older is None else [f"--release-version={_OLDER}"]
        _format(folder / "1" / "server.properties", data, [*_java(self.newer, heap)], options)
        kinds = [("proxy", "port"), ("secured_proxy", "secured")][: 1 if keystore is None else 2]
        self.all = {
            n: Broker(
                n,
                folder / str(n),
                ports[n]["port"],
                [Proxy(ports[n][proxy], ports[n][to]) for proxy, to in kinds],
                self.newer,
                heap,
            )
            for n in NUMBERS
        }
        self.address = ",".join(f"{HOST}:{ports[n]['proxy']}" for n in NUMBERS)
        self.secured_address = ",".join(f"{HOST}:{ports[n]['secured_proxy']}" for n in NUMBERS)

    def __getitem__(self, number: int) -> Broker:
        return self.all[number]

    def __iter__(self) -> Iterator[Broker]:
        return iter(self.all.values())

    def start(self) -> None:
        for each in self:
            each.service.launch()
        for each in self:
            each.service.await_ready()

    def start_stopped(self) -> None:
        """Start those that a fault has left stopped."""
        for each in self:
            if not each.service.is_running:
                each.service.start()

    def close(self) -> None:
        for each in self:
            each.service.kill()
            for proxy in (each.proxy, each.secured):
                if proxy is not None:
                    proxy.close()


def _java(jars: Path, heap: str) -> list[str]:
    run = java(SPARK_JAVA)
    # Beside a folder of jars, which may hold nothing else.
    classes = ready_classes(run, jars.with_name(f"{jars.name}.jsa"))
    return [run, f"-Xmx{heap}", *classes, "-cp", f"{jars}/*"]


def _format(settings: Path, data: Mapping[int, Path], command: list[str], options: list[str]) -> None:
    """Format the folder of the first broker; those of the others are the same but for their numbers and names."""
    format_folder(command, settings, options)
    for n in NUMBERS[1:]:
        shutil.copytree(data[1] / "data", data[n] / "data")
        known = data[n] / "data" / "meta.properties"
        lines = [
            f"node.id={n}"
            if line.startswith("node.id=")
            else f"directory.id={new_name()}"
            if line.startswith("directory.id=")
            else line
            for line in known.read_text().splitlines()
        ]
        known.write_text("\n".join(lines) + "\n")
