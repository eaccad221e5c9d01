"""The toy format as an installed plugin: a distribution whose entry points name it."""

from kcodec.formats import schema_format as seam

ENTRY_POINTS = f"""[{seam.GROUP}]
TOY = toy_format:FORMAT
TOY_SR = toy_format:ToyFormat
BOXED = toy_format:BoxedToyFormat
LIAR = toy_format:FORMAT
BROKEN = no_such_module:FORMAT
"""


def install(folder, monkeypatch):
    """Put the distribution on the path for one test."""
    metadata = folder / "toy_format-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-format\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder)
    # They are looked for once in a process.
    plugins = seam._plugins.__wrapped__()
    monkeypatch.setattr(seam, "_plugins", lambda: plugins)
    return seam.schema_format("TOY")
