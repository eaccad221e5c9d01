"""An older client of Spark Connect at a newer server; ``crossings.py`` tries all of them."""

import artifacts
import pytest
from crossings import EXPECTED, OLDER, WAYS, told_by

#: A session of a few jobs, whose client's environment may have to be made.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("name", OLDER)
def test_an_older_client(server, name):
    artifacts.had(lambda: artifacts.python(name))
    told = told_by(name.removeprefix("spark-"), server)
    assert {way: told[way] for way in WAYS if way != "written_column"} == {
        way: EXPECTED[way] for way in WAYS if way != "written_column"
    }
    assert told["written_column"].startswith("to_avro: before Spark 4.1 a column loses types")
