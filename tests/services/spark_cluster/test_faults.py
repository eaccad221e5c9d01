"""A stream on two Spark workers: what is killed and away costs no row, and none comes twice."""

from contextlib import contextmanager

import pytest
from artifacts import had
from cluster_trial import Trial
from clusters import Cluster, of_sink
from sinks import AT_LEAST_ONCE, SINKS


@contextmanager
def stream(cluster, broker, registry, sink, folder):
    """Start a stream into a sink."""
    folder.mkdir()
    trial = Trial(cluster, broker, registry, sink, folder)
    try:
        cluster.start()
        trial.start()
        yield trial
    finally:
        trial.stop()
        cluster.close()


def test_an_executor_that_is_killed(broker, own_server, tmp_path):
    cluster = had(lambda: Cluster(tmp_path))
    with stream(cluster, broker, own_server, "files", tmp_path / "trial") as trial:
        trial.phase("executor killed", trial.cluster.kill_executor, seconds=2)
        [figures], failures = trial.finish()
    assert figures.written > 0
    assert (figures.lost, figures.twice, failures) == (0, 0, 0)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sink", SINKS)
def test_all_faults(sink, broker, own_server, tmp_path):
    cluster = had(lambda: of_sink(sink, tmp_path))
    with stream(cluster, broker, own_server, sink, tmp_path / "trial") as trial:
        for name, fault in trial.faults().items():
            trial.phase(name, fault)
        found, _ = trial.finish()
    assert all(each.written for each in found)
    assert [each for each in found if each.lost or (each.twice and sink not in AT_LEAST_ONCE)] == []
