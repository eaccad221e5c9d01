"""A stream on a Spark cluster of two workers: what is killed and away costs no row, and none comes twice."""

import pytest
from artifacts import had
from cluster_trial import Trial
from sinks import SINKS
from standalone import of_sink

#: Of which a row may be there twice, where a task is run again.
AT_LEAST_ONCE = ("kcodec_kafka",)


@pytest.fixture
def trial(request, broker, own_server, tmp_path):
    """Start a stream into a sink, on a cluster of its own."""
    sink = request.param
    cluster = had(lambda: of_sink(sink, tmp_path))
    (tmp_path / "trial").mkdir()
    trial = Trial(cluster, broker, own_server, sink, tmp_path / "trial")
    try:
        cluster.start()
        trial.start()
        yield trial
    finally:
        trial.stop()
        cluster.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("trial", ["files"], indirect=True)
def test_an_executor_that_is_killed(trial):
    trial.phase("executor killed", trial.cluster.kill_executor, seconds=2)
    [figures], failures = trial.finish()
    assert figures.written > 0
    assert (figures.lost, figures.twice, failures) == (0, 0, 0)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("trial", SINKS, indirect=True)
def test_all_faults(trial):
    for name, fault in trial.faults().items():
        trial.phase(name, fault)
    found, _ = trial.finish()
    assert all(each.written for each in found)
    assert [each for each in found if each.lost or (each.twice and trial.sink not in AT_LEAST_ONCE)] == []
