"""A registry kept in an SQLite database: what ``memory://`` and ``sqlite://`` have in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from kcodec.errors import RegistryError, check_booleans, check_kind
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_schema,
    check_subject,
    context_of,
)
from kcodec.registry.compatibility.levels import Compatibility
from kcodec.registry.settings import Config, check_config, check_mode
from kcodec.registry.store.admission import Admission
from kcodec.registry.store.change_log import Change, ChangeLog
from kcodec.registry.store.database import Database
from kcodec.registry.store.ids import Ids
from kcodec.registry.store.keys import Keys
from kcodec.registry.store.own_settings import OwnSettings
from kcodec.registry.store.registration import Registrar, Registration
from kcodec.registry.store.settings import SettingsTable
from kcodec.registry.store.versions import Counts, Origin, Summary, VersionsTable, check_version

__all__ = ["EmbeddedRegistry", "Registration"]


class EmbeddedRegistry:
    """A `SchemaRegistry` over an SQLite database.

    Every method is one transaction; those that write take the write lock before they read. What a registration goes
    through, in this order: the subject's name and its alias, the mode, the text is made canonical (normalized if asked
    or configured), references are resolved, the subject is searched for the same content, its compatibility level is
    checked, the new version is stored.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self._log = ChangeLog(database)
        self._settings = SettingsTable(database)
        self._ids = Ids(database, self._settings)
        self._versions = VersionsTable(database, self._settings)
        self._admission = Admission(self._versions)
        self._registrar = Registrar(self._settings, self._ids, self._versions, self._admission)
        self._own_settings = OwnSettings(self._settings, self._versions, self._log)
        #: The keys of encrypted fields.
        self.keys = Keys(database)

    @property
    def url(self) -> str:
        """Where it is."""
        return self.database.url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}>"

    def close(self) -> None:
        """Close the file, if it is in one; a handle that is used again opens it again."""
        self.database.close()

    # Registration

    def register(
        self,
        subject: str,
        schema: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
    ) -> RegisteredSchema:
        """Register a schema under a subject; what is registered there already keeps its id and version."""
        found = self.prepare(subject, schema, normalize=normalize, schema_id=schema_id, version=version)
        return found if isinstance(found, RegisteredSchema) else self.store(found)

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
        """Do the part of a registration that only reads; return what is registered already, or what `store` takes.

        Without metadata, rules or a text of its own a schema has those of the latest version. ``force`` leaves out the
        check of compatibility.
        """
        check_booleans(normalize=normalize)
        check_kind(int | None, "a whole number", schema_id=schema_id, version=version)
        given = check_schema(schema)
        if given.rules is not None:
            given.rules.check()
        with self.database.transaction():
            return self._registrar.prepare(
                subject, given, normalize=normalize, schema_id=schema_id, version=version, force=force
            )

    def store(self, registration: Registration) -> RegisteredSchema:
        """Register what was prepared."""
        with self.database.transaction(write=True):
            return self._registrar.store(registration)

    def lookup(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Find a schema under a subject by its content.

        A schema sent with its references written out is also found where it is registered with references, if its
        language can write them out, as Avro can (``ParsedSchema.canLookup`` of the real server).
        """
        with self.database.transaction():
            return self._registrar.find(subject, schema, normalize=normalize, deleted=deleted)

    def check_compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        version: int | Literal["latest"] | None = "latest",
        *,
        normalize: bool = False,
    ) -> Compatibility:
        """Check whether a schema may become the next version of a subject."""
        only = None if version in ("latest", -1, None) else check_version(version)
        with self.database.transaction():
            return self._registrar.compatibility(
                subject, schema, level, only, all_versions=version is None, normalize=normalize
            )

    # Settings

    def config(self, subject: str | None = None, *, default_to_global: bool = False) -> Config:
        """Return what a subject is set to, or the registry as a whole."""
        with self.database.transaction():
            return self._own_settings.config(subject, default_to_global=default_to_global)

    def set_config(
        self, config: Config, subject: str | None = None, *, cleared: Iterable[str] = ()
    ) -> Config:
        """Change the given parts of a configuration, and leave the rest as it is; return the given parts.

        What stands under the ``cleared`` keys of the server is then no longer set.
        """
        check_config(config)
        for rules in (config.default_rule_set, config.override_rule_set):
            if rules is not None:
                rules.check()
        with self.database.transaction(write=True):
            return self._own_settings.set_config(config, subject, cleared=cleared)

    def delete_config(self, subject: str | None = None) -> Config:
        """Reset a subject to what holds for all, or the registry to the defaults; return what was set."""
        with self.database.transaction(write=True):
            return self._own_settings.delete_config(subject)

    def places(self) -> list[str]:
        """Return the subjects and contexts that have settings of their own, with versions or without."""
        with self.database.transaction():
            return self._settings.places()

    def mode(self, subject: str | None = None, *, default_to_global: bool = False) -> str:
        """Return the mode of a subject, or of the registry as a whole."""
        with self.database.transaction():
            return self._own_settings.mode(subject, default_to_global=default_to_global)

    def set_mode(self, mode: str, subject: str | None = None, *, force: bool = False) -> str:
        """Set the mode of a subject, or of the registry as a whole.

        IMPORT takes subjects that have no versions, unless it is forced; what is softly deleted there goes for good.
        """
        check_booleans(force=force)
        mode = check_mode(mode)
        with self.database.transaction(write=True):
            return self._own_settings.set_mode(mode, subject, force=force)

    def delete_mode(self, subject: str | None = None) -> str:
        """Reset a subject to the mode that holds for all; return what was set."""
        with self.database.transaction(write=True):
            return self._own_settings.delete_mode(subject)

    def delete_modes(self, subject: str | None = None) -> str | None:
        """Set a context, or the default one, and all its subjects back; returns the mode of the context itself.

        A subject alone is set back if it has a mode.
        """
        with self.database.transaction(write=True):
            return self._own_settings.delete_modes(subject)

    # Deletion

    def delete_context(self, name: str) -> None:
        """Delete a context that no subject is in; its ids begin at 1 again if it is used once more."""
        name = name.strip(":")
        with self.database.transaction(write=True):
            self._ids.delete_context(name)
            self._settings.drop(f":{name}:")
            self._log.add("delete_context", f":{name}:")

    def delete_version(
        self, subject: str, version: int | Literal["latest"], *, permanent: bool = False
    ) -> int:
        """Delete a version; its number is not given again while others remain."""
        check_booleans(permanent=permanent)
        if version not in ("latest", -1):
            check_version(version)
        with self.database.transaction(write=True):
            subject = self._settings.subject(subject)
            version = self._versions.get_version(subject, version, deleted=True).version or 0
            deleted = self._versions.states(subject)[version]
            if deleted and not permanent:
                raise RegistryError(
                    f"Subject '{subject}' Version {version} was soft deleted. Set permanent=true to delete "
                    "permanently",
                    404,
                    40406,
                )
            self._settings.check_mode(subject)
            self._versions.check_unused(subject, version, deleted=permanent)
            if permanent and not deleted:
                raise RegistryError(
                    f"Subject '{subject}' Version {version} was not deleted first before being permanently "
                    "deleted",
                    404,
                    40407,
                )
            self._versions.delete(subject, version, permanent=permanent)
            self._log.add("delete_version", subject, version, permanent=permanent)
        return version

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        """Delete all versions of a subject, or none."""
        check_booleans(permanent=permanent)
        with self.database.transaction(write=True):
            subject = self._settings.subject(subject)
            self._versions.check_exists(subject, deleted=True)
            states = self._versions.states(subject)
            gone = [version for version, deleted in states.items() if permanent or not deleted]
            if not gone:
                raise RegistryError(
                    f"Subject '{subject}' was soft deleted. Set permanent=true to delete permanently",
                    404,
                    40404,
                )
            self._settings.check_mode(subject)
            for version, deleted in states.items():
                if permanent or not deleted:
                    self._versions.check_unused(subject, version, deleted=permanent, besides=subject)
                if permanent and not deleted:
                    raise RegistryError(
                        f"Subject '{subject}' was not deleted first before being permanently deleted",
                        404,
                        40405,
                    )
            for version in gone:
                self._versions.delete(subject, version, permanent=permanent)
            self._log.add("delete_subject", subject, permanent=permanent, versions=gone)
        return gone

    # Schemas

    def get(self, schema_id: int, subject: str | None = None, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its id; `form` is the server's ``format`` of the text."""
        with self.database.transaction():
            return self._admission.in_form(*self._ids.by_id(schema_id, subject), form)

    def get_by_guid(self, guid: str, *, form: str = "") -> RegisteredSchema:
        """Find a schema by its GUID."""
        with self.database.transaction():
            return self._admission.in_form(*self._ids.by_guid(str(guid)), form)

    def schema_place(self, schema_id: int, subject: str) -> SubjectVersion:
        """Return where the schema is that is meant by an id and a subject: there, or where it was registered first."""
        with self.database.transaction():
            return self._ids.place(schema_id, subject)

    def schema_ids(self, guid: str) -> list[tuple[str, int]]:
        """Return the contexts that have a schema, and its ids there."""
        with self.database.transaction():
            return self._ids.of_guid(str(guid))

    def max_id(self, subject: str | None = None) -> int:
        """Return the highest id that was given in the context of a subject."""
        context = DEFAULT_CONTEXT if subject is None else context_of(check_subject(subject, whole=False))
        with self.database.transaction():
            return self._ids.highest(context)

    def get_version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        deleted: bool = False,
        form: str = "",
    ) -> RegisteredSchema:
        """Find a version of a subject."""
        with self.database.transaction():
            found = self._versions.get_version(subject, version, deleted=deleted)
            return self._admission.in_form(found, context_of(found.subject or ""), form)

    def get_latest_with_metadata(
        self, subject: str, properties: Mapping[str, str], *, deleted: bool = True
    ) -> RegisteredSchema:
        """Find the latest version whose metadata has all these properties; softly deleted ones count unless told."""
        check_kind(Mapping, "a mapping of names to values", properties=properties)
        wanted = set(properties.items())
        with self.database.transaction():
            subject = self._settings.subject(subject)
            self._versions.check_exists(subject, deleted=deleted)
            for found in self._versions.each(subject, deleted=deleted):
                if found.schema.metadata is not None and wanted <= set(found.schema.metadata.properties):
                    return found
        raise RegistryError("Schema not found", 404, 40403)

    def associated_subjects(self, topic: str, is_key: bool, cluster: str = "-") -> list[str]:
        """Return nothing: associations are kept by servers."""
        return []

    # Lists

    def subjects(
        self,
        prefix: str = "",
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[str]:
        """Return the subjects that have a version, sorted.

        A prefix may name the default context (``:.:``), or stand for every context (``:*:``), as on servers.
        """
        check_kind(str, "text", prefix=prefix)
        with self.database.transaction():
            return self._versions.subjects(
                prefix, deleted=deleted, deleted_only=deleted_only, offset=offset, limit=limit
            )

    def listed_versions(
        self,
        prefixes: Sequence[str] = ("",),
        *,
        deleted: bool = False,
        latest: bool = False,
        offset: int = 0,
        limit: int = -1,
        chosen: Callable[[str], bool] | None = None,
    ) -> list[SubjectVersion]:
        """Return the versions of subjects, sorted, or the latest one of each; those before an offset are not read.

        The subjects are those that begin with a prefix, as for `subjects`, and that `chosen` returns True of. A limit
        of -1 is none.

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> made = [registry.register(name, Schema('"int"')) for name in ("a-value", "b-value", "c-value")]
        >>> registry.listed_versions(offset=1, limit=1)
        [SubjectVersion(subject='b-value', version=1)]
        """
        found: list[SubjectVersion] = []
        with self.database.transaction():
            aliases = self._settings.aliases()
            for subject, length in self._versions.lengths(prefixes, deleted=deleted):
                if chosen is not None and not chosen(subject):
                    continue
                numbers: Sequence[int] | None = None
                if subject in aliases:
                    # As everywhere, the name means the versions of the other subject.
                    numbers = self._numbers(subject, deleted=deleted)
                    length = len(numbers)
                length = min(length, 1) if latest else length
                if offset >= length:
                    offset -= length
                    continue
                if numbers is None:
                    numbers = self._numbers(subject, deleted=deleted)
                found += [SubjectVersion(subject, each) for each in numbers[-length:][offset:]]
                offset = 0
                if 0 <= limit <= len(found):
                    break
        return found if limit < 0 else found[:limit]

    def versions(
        self,
        subject: str,
        *,
        deleted: bool = False,
        deleted_only: bool = False,
        offset: int = 0,
        limit: int = -1,
    ) -> list[int]:
        """Return the numbers of a subject's versions."""
        with self.database.transaction():
            subject = self._settings.subject(subject)
            self._versions.check_exists(subject, deleted=deleted or deleted_only)
            return self._versions.numbers(
                subject, deleted=deleted, deleted_only=deleted_only, offset=offset, limit=limit
            )

    def _numbers(self, subject: str, *, deleted: bool) -> list[int]:
        """Return the versions of the subject that a name or an alias means; none if there is no such subject."""
        return self._versions.numbers(self._settings.subject(subject), deleted=deleted)

    def every_version(self) -> list[tuple[RegisteredSchema, bool]]:
        """Return the versions of all subjects, and whether each is softly deleted; an alias has its own here."""
        with self.database.transaction():
            return self._versions.all()

    def schema_versions(
        self, schema_id: int, subject: str | None = None, *, deleted: bool = False
    ) -> list[SubjectVersion]:
        """Return where a schema of an id is registered."""
        with self.database.transaction():
            return self._ids.places(schema_id, subject, deleted=deleted)

    def referenced_by(
        self, subject: str, version: int | Literal["latest"] = "latest", *, deleted: bool = False
    ) -> list[int]:
        """Return the ids of the schemas that refer to a version."""
        with self.database.transaction():
            found = self._versions.get_version(subject, version, deleted=True)
            return self._versions.referring(found.subject or "", found.version or 0, deleted=deleted)

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""
        with self.database.transaction():
            return self._ids.contexts()

    def counts(self) -> Counts:
        """Return how much there is.

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> registry.counts()
        Counts(subjects=1, versions=1, types={'AVRO': 1})
        """
        return self.database.remembered("counts", self._versions.counts)

    def count_subjects(self, *, deleted: bool = False) -> int:
        """Return how many subjects have a version; softly deleted ones count if `deleted`.

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> registry.count_subjects()
        1
        """
        name = f"subjects {deleted}"
        return self.database.remembered(name, lambda: self._versions.count_subjects(deleted=deleted))

    def subjects_of(self, type: str, *, deleted: bool = False) -> set[str]:
        """Return the subjects that have a version of a type; softly deleted ones count if `deleted`.

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> registry.subjects_of("AVRO"), registry.subjects_of("JSON")
        ({'orders-value'}, set())
        """
        with self.database.transaction():
            return self._versions.subjects_of(type, deleted=deleted)

    def summaries(self, *, deleted: bool = False) -> dict[str, Summary]:
        """Return type and date of the latest version of each subject; softly deleted subjects count if `deleted`."""
        with self.database.transaction():
            return self._versions.summaries(deleted=deleted)

    def newest(self, limit: int) -> list[RegisteredSchema]:
        """Return the schemas that were registered last, each where it was registered first."""
        with self.database.transaction():
            return self._versions.newest(limit)

    def meant(self, subject: str) -> str:
        """Return the subject that a name means: itself, or the one it is an alias of.

        >>> from kcodec.registry import Config
        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> config = registry.set_config(Config(alias=":.lab:b"), "a")
        >>> registry.meant("a"), registry.meant(":.:c")
        (':.lab:b', 'c')
        """
        with self.database.transaction():
            return self._settings.subject(subject)

    def origins(self, subject: str, versions: Sequence[int]) -> dict[int, Origin]:
        """Return when versions of a subject were registered, and by whom.

        Softly deleted ones have it too; it is not known of those that a file had before kcodec kept it (its format 3).

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> found = registry.origins("orders-value", [1, 2])
        >>> list(found), found[1].user, found[1].ts > 1_700_000_000_000
        ([1], '', True)
        """
        with self.database.transaction():
            return self._versions.origins(self._settings.subject(subject), versions)

    def changes(
        self,
        subject: str | None = None,
        *,
        user: str | None = None,
        action: str | None = None,
        before: int | None = None,
        offset: int = 0,
        limit: int = -1,
    ) -> list[Change]:
        """Return what was changed, the newest first.

        A subject or context is meant by its own name: what was written to an alias was changed at the subject that this
        means. The user is empty for who has shown no name; what was done is one of
        `kcodec.registry.store.change_log.ACTIONS`. Changes `before` one are those with lower numbers. A limit of -1 is
        none.

        >>> from kcodec.registry.memory import MemoryRegistry
        >>> registry = MemoryRegistry()
        >>> registered = registry.register("orders-value", Schema('"string"'))
        >>> mode = registry.set_mode("READONLY")
        >>> [(each.number, each.action, each.subject, each.version) for each in registry.changes()]
        [(2, 'set_mode', None, None), (1, 'register', 'orders-value', 1)]
        """
        with self.database.transaction():
            return self._log.newest(
                subject=subject, user=user, action=action, before=before, offset=offset, limit=limit
            )

    def count_changes(
        self, subject: str | None = None, *, user: str | None = None, action: str | None = None
    ) -> int:
        """Return how many changes `changes` would have without a limit."""
        with self.database.transaction():
            return self._log.count(subject=subject, user=user, action=action)
