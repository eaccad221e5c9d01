"""What holds on a cluster of three brokers while one of them is away, and leaders move."""

import pyarrow as pa
import pytest
from faults import KEPT
from processes import until
from trial import Trial

from kcodec import kafka
from kcodec.kafka.connection.channel import Channel

#: What takes less than a minute on a machine that does nothing else may take several.
pytestmark = [pytest.mark.timeout(600), pytest.mark.thorough]


def test_nothing_is_lost_and_nothing_twice_while_brokers_fail(brokers, control):
    """A broker sleeps, another one is killed, leaders move, connections break, and the work goes on."""
    trial = Trial(brokers, control, pause=0.4)

    def led_by(number, of):
        found = control.partitions(KEPT, brokers[of].proxy.to)
        return [partition for partition, (leader, _, _) in found.items() if leader == number]

    def works_on():
        before = trial.acknowledged
        until(lambda: trial.acknowledged > before + 2_000)

    trial.start()
    works_on()
    brokers[1].pause()
    until(lambda: not led_by(1, of=2))
    works_on()
    brokers[1].resume()
    for each in brokers:
        each.proxy.cut()
    # The first replica leads.
    control.reassign(KEPT, {number: [2, 3, 1] for number in range(6)}, brokers[3].proxy.to)
    control.elect((KEPT, number) for number in range(6))
    until(lambda: len(led_by(2, of=3)) == 6)
    works_on()
    brokers[2].service.kill()
    until(lambda: not led_by(2, of=3))
    works_on()
    brokers[2].service.start()
    works_on()
    assert trial.stop() + trial.check() == []
    figures = trial.figures()
    assert figures["calls"].keys() == {"acknowledged", "aborted"}
    assert figures["records followed"] == figures["records acknowledged"] > 10_000
    assert figures["bounded reads"] > 5


def test_the_replica_of_the_own_rack_is_read(brokers, control):
    control.create_everywhere("near", 1, [each.proxy.to for each in brokers])
    value = b"x" * 100_000
    kafka.write(
        pa.table({"value": [value] * 20}),
        "near",
        servers=brokers.address,
        config={"compression.type": "none"},
    )
    leader = control.partitions("near", brokers[1].proxy.to)[0][0]
    other = leader % 3 + 1
    before = {each.number: each.proxy.answered for each in brokers}
    config = {"client.rack": f"rack-{other}"}
    found = kafka.read("near", servers=brokers.address, config=config).read_all()
    assert found["value"].to_pylist() == [value] * 20
    sent = {each.number: each.proxy.answered - before[each.number] for each in brokers}
    assert sent[other] > 20 * len(value) > 100_000 > sent[leader]


def test_quotas_are_kept(brokers, control, monkeypatch):
    """Brokers say for how long they are not to be asked; that is no time of a try."""
    control.create_everywhere("limited", 1, [each.proxy.to for each in brokers])
    port = brokers[1].proxy.to
    # Rates are those of eleven seconds.
    control.limit("slow", port, producer_byte_rate=100_000.0, consumer_byte_rate=100_000.0)
    told, throttle = [], Channel.throttle
    monkeypatch.setattr(Channel, "throttle", lambda self, time: (told.append(time), throttle(self, time))[1])
    config = {"client.id": "slow", "compression.type": "none", "default.api.timeout.ms": 5_000}
    given = pa.table({"value": [b"x" * 100_000] * 3})
    until(lambda: kafka.write(given, "limited", servers=brokers.address, config=config) and any(told))
    told.clear()
    config["fetch.max.bytes"] = config["max.partition.fetch.bytes"] = 500_000

    def read():
        found = kafka.read("limited", servers=brokers.address, config=config, columns=["offset"]).read_all()
        return found["offset"].to_pylist()

    found = read()
    assert found == list(range(len(found)))
    until(lambda: any(told) or read() != found)
    assert any(told)
