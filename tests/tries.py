"""How many examples a property tries that takes longer than others."""

from hypothesis import settings


def tries(usual: int) -> int:
    """Return how many examples the profile in use has where it usually has ``usual`` in place of 60."""
    return usual * settings.default.max_examples // 60
