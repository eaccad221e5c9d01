"""What fuzzing starts from, and a few bytes of chance, through each of its targets."""

import importlib.util
import random
from pathlib import Path

from cases import cases

from kcodec.formats.table import codec_names

FUZZ = Path(__file__).parents[2] / "fuzz"
spec = importlib.util.spec_from_file_location("targets", FUZZ / "targets.py")
targets = importlib.util.module_from_spec(spec)
spec.loader.exec_module(targets)


def test_every_codec_of_the_table_is_fuzzed():
    fuzzed = {type(codec).__name__ for make in targets.CODECS.values() for codec in make()}
    assert codec_names().keys() - fuzzed == set()


@cases("name", targets.DIRECT)
def test_direct_targets(name):
    seeds = sorted((FUZZ / "corpus" / name).iterdir())
    assert seeds
    chance = random.Random(name)
    for seed in seeds:
        data = seed.read_bytes()
        targets.target(name)(data)
        for _ in range(20):
            damaged = bytearray(data)
            damaged[chance.randrange(len(data))] = chance.randrange(256)
            targets.target(name)(bytes(damaged[: chance.randint(1, len(data) + 100)]))


@cases("name", [name for name in targets.NAMES if name not in targets.DIRECT])
def test_properties_can_be_fuzzed(name):
    targets.target(name)(random.Random(name).randbytes(200))
