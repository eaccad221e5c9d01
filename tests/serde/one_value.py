"""Values of a serde one by one, beside columns of one row."""

from side_by_side import exact

from kcodec.errors import KcodecError


def same_as_columns(serde, value, headers=None):
    """Check that a value alone is what it is as a column, when it is first met and later; return that or its error."""
    listed = None if headers is None else [headers]
    ways = (
        lambda: serde.deserialize([value], headers=listed).to_pylist()[0],
        lambda: serde.deserialize_one(value, headers),
    )
    answers, counted = [], []
    for way in (*ways, ways[1], ways[0]):
        before = serde.metrics
        try:
            answers.append(way())
        except KcodecError as error:
            answers.append((type(error), str(error)))
        after = serde.metrics
        counted.append((after.rows - before.rows, after.bad_rows - before.bad_rows))
    wanted = exact(answers[0])
    assert [exact(answer) for answer in answers[1:]] == [wanted] * 3
    assert counted[1:] == counted[:1] * 3
    return answers[0]
