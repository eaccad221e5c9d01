"""What is kept of what was made."""

import pickle
import threading

import pytest

from kcodec._kept import Kept


def test_the_oldest_goes_first():
    made = []
    kept = Kept(2)
    for key in (1, 2, 1, 3, 2, 1):
        assert kept.get(key, lambda key=key: made.append(key) or str(key)) == str(key)
    assert made == [1, 2, 3, 1]


def test_what_fails_is_made_again():
    kept = Kept(1)
    with pytest.raises(ZeroDivisionError):
        kept.get("x", lambda: 1 // 0)
    assert kept.get("x", lambda: None) is None
    assert kept.get("x", lambda: 1 // 0) is None


def test_pickles_with_what_it_keeps():
    kept = Kept(1)
    kept.get("x", lambda: 7)
    copy = pickle.loads(pickle.dumps(kept))
    assert copy.get("x", lambda: 8) == 7
    assert copy.get("y", lambda: 8) == 8
    assert copy.get("x", lambda: 9) == 9


def test_threads_share_one():
    kept = Kept(4)
    start = threading.Barrier(8)
    found = []

    def work():
        start.wait(30)
        found.append([kept.get(key, object) for key in range(4)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(found) == 8
    assert all(each == found[0] for each in found)


def test_the_last_key_is_compared_not_hashed():
    class Counted(str):
        hashed = 0
        __slots__ = ()

        def __hash__(self):
            type(self).hashed += 1
            return super().__hash__()

        def __eq__(self, other):
            return super().__eq__(other)

    kept = Kept(2)
    kept.get(Counted("a"), lambda: 1)
    before = Counted.hashed
    assert kept.get(Counted("a"), lambda: 2) == 1
    assert Counted.hashed == before
    kept.get(Counted("b"), lambda: 2)
    assert kept.get(Counted("a"), lambda: 3) == 1


def test_the_last_key_does_not_pickle_a_value_twice():
    kept = Kept(2)
    kept.get("a", list)
    again = pickle.loads(pickle.dumps(kept))
    assert again.get("a", dict) is again.get("a", dict) == []
