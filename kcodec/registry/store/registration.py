"""How schemas become versions of subjects, and are found again: what registering one takes, step by step."""

from dataclasses import replace
from typing import Any, NamedTuple

from kcodec.errors import RegistryError
from kcodec.registry.base import RegisteredSchema, Schema, context_of, invalid
from kcodec.registry.compatibility.levels import Compatibility, check_level
from kcodec.registry.settings import Config
from kcodec.registry.store.admission import Admission, populated
from kcodec.registry.store.ids import Ids
from kcodec.registry.store.settings import SettingsTable
from kcodec.registry.store.versions import MAX_VERSION, Identity, VersionsTable, check_version


class Registration(NamedTuple):
    """A schema on its way into a registry: its text is canonical, its references are resolved.

    It was compared with the ``fitting`` versions as a configuration asks for.
    """

    subject: str
    schema: Schema
    parsed: Any
    importing: bool
    id: int | None
    version: int | None
    force: bool
    config: Config
    fitting: frozenset[Identity] = frozenset()


class Registrar:
    """What registers schemas, looks them up and compares them; within a transaction of the database.

    >>> from kcodec.registry.store.database import Database
    >>> database = Database(":memory:", "memory://")
    >>> settings = SettingsTable(database)
    >>> versions = VersionsTable(database, settings)
    >>> registrar = Registrar(settings, Ids(database, settings), versions, Admission(versions))
    >>> with database.transaction(write=True):
    ...     prepared = registrar.prepare("orders", Schema('{"type": "int"}'))
    ...     stored = registrar.store(prepared)
    ...     registrar.find("orders", Schema('"int"')) == stored, stored.id, stored.version
    (True, 1, 1)
    """

    def __init__(
        self, settings: SettingsTable, ids: Ids, versions: VersionsTable, admission: Admission
    ) -> None:
        self._settings, self._ids, self._versions, self._admission = settings, ids, versions, admission

    def prepare(
        self,
        subject: str,
        given: Schema,
        *,
        normalize: bool = False,
        schema_id: int | None = None,
        version: int | None = None,
        force: bool = False,
    ) -> RegisteredSchema | Registration:
        """Do the part of a registration that only reads; return what is registered already, or what `store` takes."""
        # Confluent's clients send -1 for an id that is not given, 0 or -1 for a version.
        schema_id = None if schema_id is not None and schema_id < 0 else schema_id
        version = None if version is not None and version <= 0 else version
        subject, config = self._settings.meant(subject)
        importing = self._settings.check_registration(subject, schema_id is not None)
        normalize = normalize or bool(config.normalize)
        schema = given if importing else populated(given, self._latest(subject), config)
        # What a registry elsewhere has taken is taken as it is.
        kept, parsed = self._admission.canonical(
            schema,
            context_of(subject),
            config=config,
            normalize=normalize and not importing,
            new=not importing,
        )
        if not importing:
            found = self._versions.find(subject, kept)
            if found is None and normalize:
                # What is registered in the same words keeps its id and version, normalized or not.
                plain, _ = self._admission.canonical(schema, context_of(subject), config=config)
                found = self._versions.find(subject, plain)
            if found is None and schema != given and given.text:
                # What is registered without metadata and rules is still found so.
                bare = replace(kept, metadata=given.metadata, rules=given.rules)
                found = self._versions.find(subject, bare)
            if found is None:
                found = self._admission.find_inlined(subject, kept, deleted=False)
            if found is not None and version in (None, found.version):
                return found
        made = Registration(subject, kept, parsed, importing, schema_id, version, force, config)
        return made if importing else made._replace(fitting=self._compared(made, config))

    def store(self, registration: Registration) -> RegisteredSchema:
        """Register what was prepared; others may have registered something since, which it is compared with, too."""
        subject, kept, version = registration.subject, registration.schema, registration.version
        context = context_of(subject)
        if registration.importing:
            if registration.id is None or not 1 <= registration.id <= MAX_VERSION:
                raise RegistryError(f"{registration.id} is not the id of a schema", 422, 42205)
            if version is not None:
                check_version(version)
            placed = self._ids.give(context, kept, registration.id)
            return self._versions.bring(subject, kept, *placed, version)
        found = self._versions.find(subject, kept)
        if found is not None and version in (None, found.version):
            return found
        self._settings.check_mode(subject)
        self._compared(registration, self._settings.effective(subject))
        following = self._versions.next_number(subject)
        if version not in (None, following):
            invalid("Version is not one more than previous version")
        placed = self._ids.give(context, kept, None)
        return self._versions.add(subject, kept, *placed, following)

    def find(
        self, subject: str, schema: Schema, *, normalize: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the version of a subject with the content of a schema, or refuse (40403)."""
        subject, config = self._settings.meant(subject)
        kept, _ = self._admission.canonical(schema, context_of(subject), config=config, new=False)
        found = None
        if normalize or config.normalize:
            normal, _ = self._admission.canonical(
                schema, context_of(subject), config=config, normalize=True, new=False
            )
            found = self._versions.find(subject, normal, deleted=deleted)
        if found is None:
            found = self._versions.find(subject, kept, deleted=deleted)
        if found is None:
            found = self._admission.find_inlined(subject, kept, deleted=deleted)
        if found is None:
            full = populated(kept, self._latest(subject), config)
            found = self._versions.find(subject, full, deleted=deleted)
        if found is None:
            self._versions.check_exists(subject, deleted=deleted)
            raise RegistryError("Schema not found", 404, 40403)
        return found

    def compatibility(
        self,
        subject: str,
        schema: Schema,
        level: str | None = None,
        only: int | None = None,
        *,
        all_versions: bool = False,
        normalize: bool = False,
    ) -> Compatibility:
        """Return whether a schema may become the next version of a subject.

        It is compared with one version, with the latest one, or with as many as the level asks for.
        """
        subject, config = self._settings.meant(subject)
        if level is not None:
            config = Config(check_level(level)).over(config)
        if only is not None:
            self._versions.row(subject, only, deleted=False)
        normalize = normalize or bool(config.normalize)
        kept, parsed = self._admission.compared(schema, context_of(subject), config, normalize)
        return self._admission.compatibility(subject, kept, parsed, config, only, all_versions=all_versions)

    def _compared(self, registration: Registration, config: Config) -> frozenset[Identity]:
        """Refuse (40901) what does not fit the earlier versions; return those that it is known to fit.

        With those it is not compared again, as long as the configuration is the same.
        """
        if registration.force:
            return frozenset()
        subject = registration.subject
        fitting = set(registration.fitting) if config == registration.config else set()
        verdict = self._admission.compatibility(
            subject, registration.schema, registration.parsed, config, fitting=fitting
        )
        if not verdict.compatible:
            raise RegistryError(
                f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
                f"details: [{', '.join(verdict.messages)}]",
                409,
                40901,
            )
        return frozenset(fitting)

    def _latest(self, subject: str) -> Schema | None:
        latest = next(self._versions.each(subject), None)
        return None if latest is None else latest.schema
