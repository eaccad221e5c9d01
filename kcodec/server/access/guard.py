"""A registry that lets each user do what the user's roles allow."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    context_of,
    context_prefix,
    qualified,
)
from kcodec.registry.embedded import EmbeddedRegistry
from kcodec.registry.references import needed_subjects
from kcodec.registry.settings import Config
from kcodec.registry.store.registration import Registration
from kcodec.server.access.key_guard import GuardedKeys
from kcodec.server.access.rights import Guarded, Rights, of_some
from kcodec.server.access.roles import Role


def _of_schema(guard: "GuardedRegistry", subject: str, schema: Schema, *rest: Any, **named: Any) -> None:
    guard.check_schema_under("read", subject, schema)


def _of_registration(
    guard: "GuardedRegistry", subject: str, schema: Schema, *, force: bool = False, **named: Any
) -> None:
    # Without a check of compatibility it is for administrators.
    guard.check_schema_under("admin" if force else "write", subject, schema)


def _of_readers(guard: Guarded, subject: str, *rest: Any, **named: Any) -> None:
    guard.check("read", subject)


def _of_readers_of_all(guard: Guarded, **named: Any) -> None:
    guard.check("read", None)


def _of_readers_or_all(guard: Guarded, subject: str | None = None, **named: Any) -> None:
    # What all of it is set to holds for everybody who has a role.
    guard.check_some() if subject is None else guard.check("read", subject)


def _of_deletion(guard: Guarded, subject: str, *rest: Any, permanent: bool = False, **named: Any) -> None:
    guard.check("admin" if permanent else "write", subject)


def _of_administrators(guard: Guarded, subject: str | None = None, **named: Any) -> None:
    guard.check("admin", subject)


def _of_mode(guard: Guarded, mode: str, subject: str | None = None, **named: Any) -> None:
    guard.check("admin", subject)


def _of_config(guard: Guarded, config: Config, subject: str | None = None, **named: Any) -> None:
    guard.check("admin", subject)
    if config.alias:
        # What is written under this name goes there from then on.
        context = DEFAULT_CONTEXT if subject is None else context_of(subject)
        guard.check("admin", qualified(config.alias, context))


def _of_context(guard: Guarded, name: str) -> None:
    guard.check("admin", f":{name.strip(':')}:")


def _of_prepared(guard: Guarded, registration: Registration) -> None:
    """Check nothing: whoever has a registration was allowed to prepare it."""


#: What is checked before a method of the registry is called, with the arguments that it is called with.
_RIGHTS: dict[str, Callable[..., None]] = {
    "register": _of_registration,
    "prepare": _of_registration,
    "store": _of_prepared,
    "lookup": _of_schema,
    "check_compatibility": _of_schema,
    "max_id": of_some,
    "subjects_of": of_some,
    "summaries": of_some,
    "counts": _of_readers_of_all,
    "count_subjects": _of_readers_of_all,
    "get_latest_with_metadata": _of_readers,
    "versions": _of_readers,
    "origins": _of_readers,
    "referenced_by": _of_readers,
    "delete_version": _of_deletion,
    "delete_subject": _of_deletion,
    "delete_context": _of_context,
    "config": _of_readers_or_all,
    "set_config": _of_config,
    "delete_config": _of_administrators,
    "mode": _of_readers_or_all,
    "set_mode": _of_mode,
    "delete_mode": _of_administrators,
    "delete_modes": _of_administrators,
    "changes": _of_administrators,
    "count_changes": _of_administrators,
}


class GuardedRegistry(Guarded):
    """A registry as who asks may use it: its methods refuse the rest, as `Guarded` says.

    Lists leave out what the user may not read. A schema asked for by id or GUID may be read by those who may read a
    subject that has it, or once had it.
    """

    name = "a guarded registry"
    checks = _RIGHTS

    def __init__(self, registry: EmbeddedRegistry, rights: Rights) -> None:
        super().__init__(registry, rights)
        self._registry = registry

    @property
    def url(self) -> str:
        """The address of the registry."""
        return self._registry.url

    @property
    def keys(self) -> GuardedKeys:
        """The keys of encrypted fields, for what the user may do with them."""
        return GuardedKeys(self._registry.keys, self._rights)

    def check_schema_under(self, role: Role, subject: str, schema: Schema) -> None:
        """Refuse a schema under a subject, or one that needs what the user may not read.

        References are those of the subject that the registry takes it for, which may be of another context.
        """
        self.check(role, subject)
        if check_schema(schema).references:
            self.check_needed(schema, context_of(self._registry.meant(subject)))

    def check_needed(self, schema: Schema, context: str) -> None:
        """Refuse a schema of a context that needs, directly or not, what the user may not read."""
        if not self.reads_all:
            for each in needed_subjects(self._registry, schema, context):
                self.check("read", each)

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id: for readers of a subject that has it."""
        self.check_some()
        found = self._registry.get(schema_id, subject)
        self._check_places(schema_id, subject)
        if not form:
            return found
        place = None if subject is None else self._registry.schema_place(schema_id, subject)
        self.check_needed(found.schema, DEFAULT_CONTEXT if place is None else context_of(place.subject))
        return self._registry.get(schema_id, subject, form=form)

    def schema_place(self, schema_id: int, subject: str) -> SubjectVersion:
        """Return where the schema is that is meant by an id and a subject, of what the user may read."""
        self.check_some()
        found = self._registry.schema_place(schema_id, subject)
        if self.may_read(found.subject):
            return found
        places = self._places(schema_id, context_of(found.subject))
        if not places:
            self._rights.deny("read", f"Schema: {schema_id}")
        return places[0]

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID: for readers of a subject that has it."""
        self.check_some()
        found = self._registry.get_by_guid(guid)
        if not self.reads_all and not self.schema_ids(guid):
            self._rights.deny("read", f"Schema: {guid}")
        if not form:
            return found
        # The registry answers with the schema of the first context that has it.
        self.check_needed(found.schema, self._registry.schema_ids(guid)[0][0])
        return self._registry.get_by_guid(guid, form=form)

    def _check_places(self, schema_id: int, subject: str | None) -> None:
        if self.reads_all:
            return
        context = (
            None if subject is None else context_of(self._registry.schema_place(schema_id, subject).subject)
        )
        if not self._places(schema_id, context):
            self._rights.deny("read", f"Schema: {schema_id}")

    def _places(self, schema_id: int, context: str | None) -> list[SubjectVersion]:
        """Return where a schema is or was registered, of what the user may read."""
        within = context_prefix(context or DEFAULT_CONTEXT) or None
        found = self._registry.schema_versions(schema_id, within, deleted=True)
        return [each for each in found if self.may_read(each.subject)]

    def schema_ids(self, guid: str) -> list[tuple[str, int]]:
        """Return the contexts that have a schema, of those where the user may read it."""
        self.check_some()
        found = self._registry.schema_ids(guid)
        return found if self.reads_all else [each for each in found if self._places(each[1], each[0])]

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version: for readers."""
        self.check("read", subject)
        found = self._registry.get_version(subject, version, deleted=deleted)
        if not form:
            return found
        self.check_needed(found.schema, context_of(found.subject or subject))
        return self._registry.get_version(subject, version, deleted=deleted, form=form)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return the subjects that are associated with a topic, of those that the user may read."""
        found = self._registry.associated_subjects(topic, is_key, cluster)
        return [each for each in found if self.may_read(each)]

    def subjects(
        self,
        prefix: str = "",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that the user may read."""
        self.check_some()
        how = {"deleted": deleted, "deleted_only": deleted_only}
        if self.reads_all:
            return self._registry.subjects(prefix, **how, offset=offset, limit=limit)
        found = [each for each in self._registry.subjects(prefix, **how) if self.may_read(each)]
        return found[offset : offset + limit if limit >= 0 else None]

    def newest(self, limit: int) -> list[RegisteredSchema]:
        """Return the schemas that were registered last, of those that the user may read."""
        return [each for each in self._registry.newest(limit) if self.may_read(each.subject or "")]

    def listed_versions(self, prefixes: Sequence[str] = ("",), **how: Any) -> list[SubjectVersion]:
        """Return the versions of the subjects that the user may read."""
        self.check_some()
        chosen = None if self.reads_all else self.may_read
        return self._registry.listed_versions(prefixes, **how, chosen=chosen)

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema is registered, of what the user may read."""
        self.check_some()
        found = self._registry.schema_versions(schema_id, subject, deleted=deleted)
        self._check_places(schema_id, subject)
        return [each for each in found if self.may_read(each.subject)]

    def contexts(self) -> list[str]:
        """Return the contexts of the subjects that the user may read."""
        self.check_some()
        if self.reads_all:
            return self._registry.contexts()
        return sorted({DEFAULT_CONTEXT, *map(context_of, self.subjects(deleted=True))})


#: What the calls and the pages of the server ask.
ServedRegistry = EmbeddedRegistry | GuardedRegistry
