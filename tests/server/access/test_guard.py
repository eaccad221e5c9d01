"""Which methods a guarded registry has."""

import inspect

import pytest

from kcodec.errors import RegistryError
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.memory import MemoryRegistry
from kcodec.server.access.guard import _RIGHTS, GuardedRegistry
from kcodec.server.access.rights import UserRights
from kcodec.server.access.roles import Roles

#: What neither calls nor pages of the server ask: lists of everything are for transfers.
NOT_SERVED = {"close", "every_version", "meant", "places"}
#: What only a guarded registry has.
VERDICTS = {"can", "check", "check_needed", "check_schema_under", "check_some", "may_read"}

METHODS = {
    name for name, _ in inspect.getmembers(EmbeddedRegistry, inspect.isfunction) if not name.startswith("_")
}


@pytest.fixture
def guarded():
    return GuardedRegistry(MemoryRegistry(), UserRights(lambda: Roles(())))


def test_each_method_has_a_right_or_is_not_served():
    own = {name for name, _ in inspect.getmembers(GuardedRegistry, inspect.isfunction) if name[0] != "_"}
    assert own.isdisjoint(_RIGHTS)
    assert own | _RIGHTS.keys() == METHODS - NOT_SERVED | VERDICTS


@pytest.mark.parametrize("name", sorted(NOT_SERVED | {"database"}))
def test_what_has_no_right_nobody_may_do(guarded, name):
    with pytest.raises(AttributeError, match=f"a guarded registry has no {name}"):
        getattr(guarded, name)


@pytest.mark.parametrize("name", sorted(_RIGHTS.keys() - {"store"}))
def test_who_has_no_role_is_refused_before_the_registry_is_asked(guarded, monkeypatch, name):
    monkeypatch.setattr(guarded._registry, name, lambda *given, **named: pytest.fail("it was asked"))
    given = {
        "subject": "s",
        "schema": None,
        "name": ".lab",
        "mode": "READONLY",
        "config": None,
        "version": 1,
        "versions": [1],
        "type": "AVRO",
        "properties": {},
    }
    wanted = inspect.signature(getattr(EmbeddedRegistry, name)).parameters.values()
    arguments = {
        each.name: given[each.name]
        for each in wanted
        if each.name in given and each.default is inspect.Parameter.empty
    }
    with pytest.raises(RegistryError) as caught:
        getattr(guarded, name)(**arguments)
    # An anonymous user may show a name.
    assert caught.value.error_code == 40101
