"""A registry that lets each user do what the user's roles allow."""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Literal

from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    check_subject,
    context_of,
    context_prefix,
    qualified,
)
from kcodec.registry.compatibility.levels import Compatibility
from kcodec.registry.embedded import EmbeddedRegistry, Registration
from kcodec.registry.references import needed_subjects
from kcodec.registry.settings import Config
from kcodec.server.access.roles import ANONYMOUS, Role, Roles, User, deny

__all__ = ["GuardedRegistry", "ServedRegistry", "current_user"]

#: Who asks, in the context of a request.
current_user: ContextVar[User] = ContextVar("current_user", default=ANONYMOUS)


class GuardedRegistry:
    """A registry whose methods refuse (403, 40301) what the roles of the `current_user` do not allow.

    Lists leave out what the user may not read. A schema asked for by id or GUID may be read by those who may read a
    subject that has it, or once had it. It has the methods that the server needs; what it has not, nobody may do.

    Parameters
    ----------
    registry : EmbeddedRegistry
        The registry.
    roles : callable
        Returns the roles as they are now.
    """

    def __init__(self, registry: EmbeddedRegistry, roles: Callable[[], Roles]) -> None:
        self._registry = registry
        self._roles = roles

    @property
    def url(self) -> str:
        """Where it is."""
        return self._registry.url

    def _check(self, role: Role, subject: str | None) -> None:
        """Refuse an action that the user may not do with a subject, a context or (None) all of the registry."""
        name = None if subject is None else check_subject(subject, whole=False)
        self._roles().check(current_user.get(), role, name)

    def _check_some(self) -> None:
        """Refuse users who have no role at all."""
        user = current_user.get()
        if not self._roles().has_some(user):
            deny(user, "read", "anything")

    def _may_read(self, subject: str) -> bool:
        return self._roles().has(current_user.get(), "read", subject)

    @property
    def _reads_all(self) -> bool:
        return self._roles().has_everywhere(current_user.get(), "read")

    def _check_schema(self, role: Role, subject: str, schema: Schema) -> None:
        """Refuse a schema under a subject, or one that needs what the user may not read.

        References are those of the subject that the registry takes it for, which may be of another context.
        """
        self._check(role, subject)
        if check_schema(schema).references:
            self._check_needed(schema, context_of(self._registry.meant(subject)))

    def _check_needed(self, schema: Schema, context: str) -> None:
        """Refuse a schema of a context that needs, directly or not, what the user may not read."""
        if not self._reads_all:
            for each in needed_subjects(self._registry, schema, context):
                self._check("read", each)

    def prepare(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
        force: bool = False,
    ) -> RegisteredSchema | Registration:
        """Prepare a registration: for writers; without a check of compatibility for administrators."""
        self._check_schema("admin" if force else "write", subject, schema)
        return self._registry.prepare(
            subject, schema, normalize=normalize, schema_id=schema_id, version=version, force=force
        )

    def store(self, registration: Registration) -> RegisteredSchema:
        """Register what a writer has prepared."""
        return self._registry.store(registration)

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject: for readers."""
        self._check_schema("read", subject, schema)
        return self._registry.lookup(subject, schema, normalize=normalize, deleted=deleted)

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        version: int | Literal["latest"] | None = "latest",
        *,
        normalize: bool = False,
    ) -> Compatibility:
        """Check a schema: for readers."""
        self._check_schema("read", subject, schema)
        return self._registry.check_compatibility(subject, schema, level, version, normalize=normalize)

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id: for readers of a subject that has it."""
        self._check_some()
        found = self._registry.get(schema_id, subject)
        self._check_places(schema_id, subject)
        if not form:
            return found
        place = None if subject is None else self._registry.schema_place(schema_id, subject)
        self._check_needed(found.schema, DEFAULT_CONTEXT if place is None else context_of(place.subject))
        return self._registry.get(schema_id, subject, form=form)

    def schema_place(self, schema_id: int, subject: str) -> SubjectVersion:
        """Return where the schema is that is meant by an id and a subject, of what the user may read."""
        self._check_some()
        found = self._registry.schema_place(schema_id, subject)
        if self._may_read(found.subject):
            return found
        places = self._places(schema_id, context_of(found.subject))
        if not places:
            deny(current_user.get(), "read", f"Schema: {schema_id}")
        return places[0]

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID: for readers of a subject that has it."""
        self._check_some()
        found = self._registry.get_by_guid(guid)
        if not self._reads_all and not self.schema_ids(guid):
            deny(current_user.get(), "read", f"Schema: {guid}")
        if not form:
            return found
        # The registry answers with the schema of the first context that has it.
        self._check_needed(found.schema, self._registry.schema_ids(guid)[0][0])
        return self._registry.get_by_guid(guid, form=form)

    def _check_places(self, schema_id: int, subject: str | None) -> None:
        if self._reads_all:
            return
        context = (
            None if subject is None else context_of(self._registry.schema_place(schema_id, subject).subject)
        )
        if not self._places(schema_id, context):
            deny(current_user.get(), "read", f"Schema: {schema_id}")

    def _places(self, schema_id: int, context: str | None) -> list[SubjectVersion]:
        """Return where a schema is or was registered, of what the user may read."""
        within = context_prefix(context or DEFAULT_CONTEXT) or None
        found = self._registry.schema_versions(schema_id, within, deleted=True)
        return [each for each in found if self._may_read(each.subject)]

    def schema_ids(self, guid: str) -> list[tuple[str, int]]:
        """Return the contexts that have a schema, of those where the user may read it."""
        self._check_some()
        found = self._registry.schema_ids(guid)
        return found if self._reads_all else [each for each in found if self._places(each[1], each[0])]

    def max_id(self, subject: str | None = None) -> int:
        """Return the highest id: for those who may read anything."""
        self._check_some()
        return self._registry.max_id(subject)

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version: for readers."""
        self._check("read", subject)
        found = self._registry.get_version(subject, version, deleted=deleted)
        if not form:
            return found
        self._check_needed(found.schema, context_of(found.subject or subject))
        return self._registry.get_version(subject, version, deleted=deleted, form=form)

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version with some metadata: for readers."""
        self._check("read", subject)
        return self._registry.get_latest_with_metadata(subject, properties, deleted=deleted)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return the subjects that are associated with a topic, of those that the user may read."""
        found = self._registry.associated_subjects(topic, is_key, cluster)
        return [each for each in found if self._may_read(each)]

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
        self._check_some()
        found = self._registry.subjects(prefix, deleted=deleted, deleted_only=deleted_only)
        found = found if self._reads_all else [each for each in found if self._may_read(each)]
        return found[offset : offset + limit if limit >= 0 else None]

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the versions of a subject: for readers."""
        self._check("read", subject)
        return self._registry.versions(
            subject, deleted=deleted, deleted_only=deleted_only, offset=offset, limit=limit
        )

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema is registered, of what the user may read."""
        self._check_some()
        found = self._registry.schema_versions(schema_id, subject, deleted=deleted)
        self._check_places(schema_id, subject)
        return [each for each in found if self._may_read(each.subject)]

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version: for readers."""
        self._check("read", subject)
        return self._registry.referenced_by(subject, version, deleted=deleted)

    def contexts(self) -> list[str]:
        """Return the contexts of the subjects that the user may read."""
        self._check_some()
        if self._reads_all:
            return self._registry.contexts()
        return sorted({DEFAULT_CONTEXT, *map(context_of, self.subjects(deleted=True))})

    def delete_context(self, name: str) -> None:
        """Delete a context: for its administrators."""
        self._check("admin", f":{name.strip(':')}:")
        self._registry.delete_context(name)

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return a configuration: for readers of the subject; that of all for all who have a role."""
        self._check_some() if subject is None else self._check("read", subject)
        return self._registry.config(subject, default_to_global=default_to_global)

    def set_config(
        self, config: Config, subject: str | None = None, *, cleared: Iterable[str] = ()
    ) -> Config:
        """Change a configuration: for administrators, of what an alias stands for too."""
        self._check("admin", subject)
        if config.alias:
            context = DEFAULT_CONTEXT if subject is None else context_of(subject)
            self._check("admin", qualified(config.alias, context))
        return self._registry.set_config(config, subject, cleared=cleared)

    def delete_config(self, subject: str | None = None) -> Config:
        """Drop a configuration: for administrators."""
        self._check("admin", subject)
        return self._registry.delete_config(subject)

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return a mode: for readers of the subject; that of all for everybody."""
        self._check_some() if subject is None else self._check("read", subject)
        return self._registry.mode(subject, default_to_global=default_to_global)

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Change a mode: for administrators."""
        self._check("admin", subject)
        return self._registry.set_mode(mode, subject, force=force)

    def delete_mode(self, subject: str | None = None) -> str:
        """Drop a mode: for administrators."""
        self._check("admin", subject)
        return self._registry.delete_mode(subject)

    def delete_modes(self, subject: str | None = None) -> str | None:
        """Drop the modes of a context and its subjects: for administrators."""
        self._check("admin", subject)
        return self._registry.delete_modes(subject)

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version: for writers, permanently for administrators."""
        self._check("admin" if permanent else "write", subject)
        return self._registry.delete_version(subject, version, permanent=permanent)

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete a subject: for writers, permanently for administrators."""
        self._check("admin" if permanent else "write", subject)
        return self._registry.delete_subject(subject, permanent=permanent)


#: What the calls of the server ask.
ServedRegistry = EmbeddedRegistry | GuardedRegistry
