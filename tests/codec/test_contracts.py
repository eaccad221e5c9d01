"""Every codec does what every codec must do."""

import pytest
from contract_examples import EXAMPLES, SERDE
from contracts import Contract, Identity


@pytest.mark.parametrize("example", [*EXAMPLES.values(), SERDE], ids=[*EXAMPLES, "serde"])
class TestColumns(Contract):
    pass


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
class TestValues(Identity):
    pass


def test_every_codec_has_an_example():
    import kcodec

    codecs = {name for name in kcodec.__all__ if name.endswith("Codec")}
    assert codecs == {type(example.make()).__name__ for example in EXAMPLES.values()}
