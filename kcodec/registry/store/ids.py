"""The ids of schemas: each context gives its own, in the tables of contexts and of schemas."""

from typing import Any

from kcodec.errors import RegistryError
from kcodec.registry.base import (
    DEFAULT_CONTEXT,
    RegisteredSchema,
    Schema,
    SubjectVersion,
    check_subject,
    context_of,
    context_prefix,
    guid,
    own_name,
    qualified,
    unknown_schema,
)
from kcodec.registry.store.content import CONTENT, dump, load
from kcodec.registry.store.database import Database
from kcodec.registry.store.settings import SettingsTable


class Ids:
    """Schemas by their ids and GUIDs; within a transaction of the database.

    >>> database = Database(":memory:", "memory://")
    >>> ids = Ids(database, SettingsTable(database))
    >>> with database.transaction(write=True):
    ...     (_, first), (_, second) = (ids.give(".", Schema(f'"{name}"'), None) for name in ("int", "long"))
    ...     again = ids.give(".", Schema('"int"'), None)[1]
    >>> first, second, again
    (1, 2, 1)
    """

    def __init__(self, database: Database, settings: SettingsTable) -> None:
        self._database = database
        self._settings = settings

    def give(self, context: str, schema: Schema, number: int | None) -> tuple[int, int]:
        """Return the key and the id of a schema in a context, which may be new; with a number that id."""
        content, identity = dump(schema), guid(schema)
        for key, known, text in self._database.execute(
            # Not by the index that has the ids in their order: that is all of the context.
            "SELECT key, id, content FROM schemas INDEXED BY schemas_guid WHERE context = ? AND guid = ? "
            "ORDER BY id",
            (context, identity),
        ):
            if text == content and number in (None, known):
                return key, known
        self._database.execute("INSERT OR IGNORE INTO contexts VALUES (?, 0)", (context,))
        if number is None:
            (number,) = self._database.execute(
                "SELECT last_id + 1 FROM contexts WHERE name = ?", (context,)
            ).fetchone()
        elif self._database.execute(
            "SELECT 1 FROM schemas WHERE context = ? AND id = ?", (context, number)
        ).fetchone():
            raise RegistryError(
                f"Overwrite new schema with id {number} in context {context_prefix(context)} is not permitted.",
                422,
                42205,
            )
        self._database.execute(
            "UPDATE contexts SET last_id = max(last_id, ?) WHERE name = ?", (number, context)
        )
        cursor = self._database.execute(
            "INSERT INTO schemas (context, id, guid, content) VALUES (?, ?, ?, ?)",
            (context, number, identity, content),
        )
        key = int(cursor.lastrowid or 0)
        for each in schema.references:
            target = check_subject(qualified(each.subject, context))
            self._database.execute(
                "INSERT INTO schema_references VALUES (?, ?, ?)", (key, target, each.version)
            )
        return key, int(number or 0)

    def by_id(self, schema_id: int, subject: str | None) -> tuple[RegisteredSchema, str]:
        """Return the schema of an id, which a subject or None tells the context of, and that context."""
        context = self._context(schema_id, subject)
        return self._first("context = ? AND id = ?", (context, schema_id), schema_id)

    def by_guid(self, guid: str) -> tuple[RegisteredSchema, str]:
        """Return the schema of a GUID, as the first context has it that does, and that context."""
        return self._first("guid = ?", (guid.lower(),), guid)

    def _first(
        self, condition: str, values: tuple[Any, ...], name: int | str
    ) -> tuple[RegisteredSchema, str]:
        """Return the first schema that meets a condition; `name` is what a message calls it."""
        row = self._database.execute(
            f"SELECT id, guid, {CONTENT}, context FROM schemas WHERE {condition} ORDER BY context, id", values
        ).fetchone()
        if row is None:
            unknown_schema(name)
        return RegisteredSchema(row[0], row[1], load(row[2], "id", row[0])), row[3]

    def place(self, schema_id: int, subject: str) -> SubjectVersion:
        """Return where the schema is that is meant by an id and a subject: there, or where it was registered first."""
        context = self._context(schema_id, subject)
        own = own_name(self._meant(subject))
        found = "SELECT subject, version FROM schemas JOIN versions ON key = schema_key WHERE context = ? AND id = ?"
        # Thousands of subjects may have the same schema: they are looked at only if this one has not.
        row = self._database.execute(
            f"{found} AND subject = ? ORDER BY version DESC LIMIT 1",
            (context, schema_id, qualified(own, context)),
        ).fetchone()
        if row is None:
            row = self._database.execute(
                f"{found} ORDER BY version DESC LIMIT 1", (context, schema_id)
            ).fetchone()
        if row is None:
            unknown_schema(schema_id)
        return SubjectVersion(*row)

    def places(self, schema_id: int, subject: str | None, *, deleted: bool) -> list[SubjectVersion]:
        """Return where the schema of an id is registered."""
        found, context = self.by_id(schema_id, subject)
        rows = self._database.execute(
            "SELECT subject, version FROM versions JOIN schemas ON key = schema_key WHERE context = ? AND id = ? "
            "AND (? OR NOT deleted) ORDER BY subject, version",
            (context, found.id, deleted),
        )
        return [SubjectVersion(*row) for row in rows]

    def of_guid(self, guid: str) -> list[tuple[str, int]]:
        """Return the contexts that have a schema, and its ids there."""
        rows = self._database.execute(
            "SELECT context, id FROM schemas WHERE guid = ? ORDER BY context, id", (guid.lower(),)
        )
        return rows.fetchall()

    def highest(self, context: str) -> int:
        """Return the highest id that was given in a context."""
        row = self._database.execute("SELECT last_id FROM contexts WHERE name = ?", (context,)).fetchone()
        return 0 if row is None else int(row[0])

    def contexts(self) -> list[str]:
        """Return the names of the contexts."""
        names = [row[0] for row in self._database.execute("SELECT name FROM contexts")]
        return sorted({DEFAULT_CONTEXT, *names})

    def delete_context(self, name: str) -> None:
        """Delete a context that no subject is in; its ids begin at 1 again if it is used once more."""
        if self._database.execute("SELECT 1 FROM schemas WHERE context = ?", (name,)).fetchone():
            raise RegistryError(f"The specified context '{name}' is not empty.", 422, 42211)
        if not self._database.execute("DELETE FROM contexts WHERE name = ?", (name,)).rowcount:
            raise RegistryError(f"Context '{name}' not found.", 404, 40401)

    def _context(self, schema_id: int, subject: str | None) -> str:
        """Return the context in which an id is meant.

        As in Confluent's server an id under a subject of the default context may be that of the same subject in another
        one; under a subject of another context it has to be that subject's.
        """
        name = "" if subject is None else self._meant(subject)
        context, own = context_of(name), own_name(name)
        if not own:
            return context
        rows = self._database.execute(
            # From the few contexts on: no index has all ids together.
            "SELECT context FROM contexts CROSS JOIN schemas ON context = name AND id = ? "
            "CROSS JOIN versions ON schema_key = key AND subject = "
            "CASE context WHEN ? THEN ? ELSE ':' || context || ':' || ? END ORDER BY context",
            (schema_id, DEFAULT_CONTEXT, own, own),
        )
        found = [row[0] for row in rows]
        if context == DEFAULT_CONTEXT:
            return found[0] if found else context
        if context not in found:
            unknown_schema(schema_id)
        return context

    def _meant(self, subject: str) -> str:
        """Return the subject that is meant by a name, which may be an alias, or a context."""
        name = check_subject(subject, whole=False)
        return self._settings.subject(name) if own_name(name) else name
