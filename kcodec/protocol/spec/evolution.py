"""What may change between two states of a message definition: the rules in Kafka's README of message definitions.

Kafka's own checker (``MetadataSchemaCheckerTool``) is the second source. Where the two disagree, the README wins:

- A tagged field may be added to a flexible version that exists, and taken out again. (The checker refuses the first.)
- A field may become nullable in a new version. (The checker refuses it.)
- An array of a primitive type may become an array of structs that hold just that, in versions that are not flexible:
  in flexible ones each struct brings a tag section of its own. (The checker refuses it.)
- Fields may neither be reordered nor removed from a version that exists, nor become tagged or regular in it, nor may
  it become flexible, nor may a tag be given to another field. (The checker sees none of these, unless types or versions
  differ as well.)
"""

from collections.abc import Iterable
from typing import NamedTuple

from kcodec.errors import check_kind
from kcodec.protocol.spec.definitions import Definitions
from kcodec.protocol.spec.message import MessageSpec
from kcodec.protocol.spec.model import FieldSpec, StructSpec
from kcodec.protocol.spec.versions import Versions

#: Code -> what it says. Codes are stable: new ones may be added, none is renamed or given another meaning.
VIOLATIONS: dict[str, str] = {
    "message_removed": "a message is gone",
    "message_name": "the message has another name",
    "api_key": "the API key or record type is another",
    "message_type": "the message is of another type",
    "flexible_versions": "a version that exists becomes flexible, or is no longer",
    "highest_version": "the highest valid version is lower",
    "lowest_version": "the lowest valid version is lower",
    "versions_outside": "versions of a field are not among those of the message",
    "field_added": "a field is added to a version that exists",
    "field_removed": "a field is taken out of a version that exists",
    "field_reordered": "fields stand in another order",
    "field_type": "the type of a field is another",
    "field_versions": "the field is in other versions than it was",
    "field_nullable": "a field becomes nullable, or no longer, in a version that exists",
    "field_default": "the default of a field is another",
    "field_tagged": "a field becomes tagged, or no longer, in a version that exists",
    "tag": "the tag of a field is another",
    "tag_reused": "a tag is given to another field",
}


class Violation(NamedTuple):
    """A change that is not allowed.

    Attributes
    ----------
    code : str
        A key of `VIOLATIONS`.
    path : str
        Of the field, such as ``"FetchRequest.Topics.Partitions"``; the message's name for the message itself.
    reason : str
        One sentence.

    Examples
    --------
    >>> print(Violation("field_type", "Mark.Epoch", "the type int32 becomes int64"))
    Mark.Epoch: field_type: the type int32 becomes int64
    """

    code: str
    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.code}: {self.reason}"


def check_evolution(old: MessageSpec, new: MessageSpec) -> list[Violation]:
    """Find the changes that two states of a definition must not have between them.

    Parameters
    ----------
    old, new : MessageSpec
        The definition as it was released, and as it shall be.

    Returns
    -------
    list of Violation
        In the order of the fields; empty if old and new peers understand each other.

    Examples
    --------
    >>> text = '''{"type": "data", "name": "Mark", "validVersions": "0-1", "flexibleVersions": "none",
    ...   "fields": [{"name": "Epoch", "type": "%s", "versions": "0+"}]}'''
    >>> for violation in check_evolution(MessageSpec.parse(text % "int32"), MessageSpec.parse(text % "int64")):
    ...     print(violation)
    Mark.Epoch: field_type: the type int32 becomes int64
    """
    check_kind(MessageSpec, "a MessageSpec", old=old, new=new)
    comparison = _Comparison(old, new)
    comparison.run()
    return comparison.found


def check_all(old: Definitions, new: Definitions) -> list[Violation]:
    """Find them in all messages of two sets of definitions; a message that is gone is one, too."""
    found: list[Violation] = []
    for name, spec in old.items():
        if name in new:
            found += check_evolution(spec, new[name])
        # What cannot be read may be there.
        elif not spec.valid_versions.empty and name not in new.faults:
            found.append(Violation("message_removed", name, "the message is gone"))
    return found


class _Comparison:
    """Two definitions, and what is found between them."""

    def __init__(self, old: MessageSpec, new: MessageSpec) -> None:
        self.old = old
        self.new = new
        self.found: list[Violation] = []
        self.old_structs = old.structs
        self.new_structs = new.structs
        self.common = old.valid_versions & new.valid_versions

    def report(self, code: str, path: str, reason: str) -> None:
        self.found.append(Violation(code, path, reason))

    def run(self) -> None:
        old, new, path = self.old, self.new, self.new.name
        for code, name, one, other in (
            ("message_name", "name", old.name, new.name),
            ("api_key", "API key", old.api_key, new.api_key),
            ("message_type", "type", old.type, new.type),
        ):
            if one != other:
                self.report(code, path, f"the {name} {one} becomes {other}")
        changed = [version for version in self.common if old.flexible_in(version) != new.flexible_in(version)]
        if changed or not (new.valid_versions.empty or new.flexible_versions.covers(old.flexible_versions)):
            before, after = old.flexible_versions, new.flexible_versions
            self.report("flexible_versions", path, f"flexible versions {before} become {after}")
        before, after = old.valid_versions, new.valid_versions
        if after.highest < before.highest:
            self.report("highest_version", path, f"versions {before} become {after}: the highest is lower")
        if after.lowest < before.lowest:
            self.report("lowest_version", path, f"versions {before} become {after}: the lowest is lower")
        if after.empty:
            return
        for spec in (old, new):
            self.outside(spec, spec.fields, path)
            for struct in spec.common_structs:
                self.outside(spec, struct.fields, f"{path}.{struct.name}")
        self.structs(old.struct, new.struct, path)

    def outside(self, spec: MessageSpec, fields: Iterable[FieldSpec], path: str) -> None:
        """Report ranges of fields that have no version in common with the message."""
        for field in fields:
            below = f"{path}.{field.name}"
            ranges = {"versions": field.versions}
            if not field.nullable_versions.empty:
                ranges["nullableVersions"] = field.nullable_versions
            if field.tag is not None:
                ranges["taggedVersions"] = field.tagged_versions
            if field.flexible_versions is not None and not field.flexible_versions.empty:
                ranges["flexibleVersions"] = field.flexible_versions
            for name, versions in ranges.items():
                if (versions & spec.valid_versions).empty:
                    which = "old" if spec is self.old else "new"
                    self.report(
                        "versions_outside",
                        below,
                        f"{name} {versions} are not among the {which} message's versions {spec.valid_versions}",
                    )
            self.outside(spec, field.fields, below)

    def structs(self, old: StructSpec, new: StructSpec, path: str) -> None:
        pairs = self.pairs(old, new)
        partners = {after.name: before for before, after in pairs}
        paired = {before.name for before, _ in pairs}
        for field in old.fields:
            if field.name not in paired and self.regular(field):
                self.report("field_removed", f"{path}.{field.name}", f"it was in versions {field.versions}")
        for field in new.fields:
            below = f"{path}.{field.name}"
            before = partners.get(field.name)
            if before is not None:
                self.fields(before, field, below)
            elif self.regular(field):
                self.report(
                    "field_added",
                    below,
                    f"it is in versions {field.versions}, of which {self.common} exist already",
                )
        self.order(new, pairs, path)
        self.tags(old, pairs, new, path)

    def regular(self, field: FieldSpec) -> bool:
        """Return whether the field is untagged in one of the versions that both messages have."""
        return any(version in field.versions and not field.tagged_in(version) for version in self.common)

    def pairs(self, old: StructSpec, new: StructSpec) -> list[tuple[FieldSpec, FieldSpec]]:
        """Find the fields of both that are one field: by name, else by tag, else by place and type."""
        names = {field.name: field for field in new.fields}
        pairs = [(field, names[field.name]) for field in old.fields if field.name in names]
        known = {field.name for field, _ in pairs}
        added = [field for field in new.fields if field.name not in known]
        for before in old.fields:
            if before.name in known:
                continue
            for after in added:
                if before.type == after.type and self.same_place(old, before, new, after, known):
                    pairs.append((before, after))
                    added.remove(after)
                    break
        return sorted(pairs, key=lambda pair: old.fields.index(pair[0]))

    def same_place(
        self, old: StructSpec, before: FieldSpec, new: StructSpec, after: FieldSpec, known: set[str]
    ) -> bool:
        if before.tag is not None or after.tag is not None:
            return before.tag == after.tag
        return (
            self.regular(before)
            and self.regular(after)
            and _left(old, before, known) == _left(new, after, known)
        )

    def order(self, new: StructSpec, pairs: list[tuple[FieldSpec, FieldSpec]], path: str) -> None:
        places = {field.name: place for place, field in enumerate(new.fields)}
        last: FieldSpec | None = None
        for before, after in pairs:
            if not (self.regular(before) and self.regular(after)):
                continue
            if last is not None and places[after.name] < places[last.name]:
                self.report(
                    "field_reordered",
                    f"{path}.{after.name}",
                    f"it stood after {last.name} and is now before it",
                )
            else:
                last = after

    def tags(
        self, old: StructSpec, pairs: list[tuple[FieldSpec, FieldSpec]], new: StructSpec, path: str
    ) -> None:
        owners = {field.tag: field for field in old.fields if field.tag is not None}
        partners = {after.name for _, after in pairs}
        for field in new.fields:
            owner = None if field.tag is None else owners.get(field.tag)
            if owner is not None and field.name not in partners:
                self.report("tag_reused", f"{path}.{field.name}", f"tag {field.tag} was that of {owner.name}")

    def fields(self, old: FieldSpec, new: FieldSpec, path: str) -> None:
        boxed = old.type != new.type and self.boxed(old, new)
        if old.type != new.type and not boxed:
            self.report("field_type", path, f"the type {old.type} becomes {new.type}")
        self.versions(old, new, path)
        if any(old.nullable_in(version) != new.nullable_in(version) for version in self.both(old, new)):
            before, after = old.nullable_versions, new.nullable_versions
            self.report("field_nullable", path, f"nullableVersions {before} become {after}")
        if old.flexible_versions != new.flexible_versions and any(
            self.old.compact_in(old, version) != self.new.compact_in(new, version)
            for version in self.both(old, new)
        ):
            self.report(
                "flexible_versions",
                path,
                f"flexibleVersions {old.flexible_versions} become {new.flexible_versions}",
            )
        if old.default != new.default:
            self.report("field_default", path, f"the default '{old.default}' becomes '{new.default}'")
        if any(old.tagged_in(version) != new.tagged_in(version) for version in self.both(old, new)):
            self.report(
                "field_tagged", path, f"taggedVersions {old.tagged_versions} become {new.tagged_versions}"
            )
        elif old.tag is not None and new.tag is not None and old.tag != new.tag:
            self.report("tag", path, f"the tag {old.tag} becomes {new.tag}")
        if old.type.has_struct and new.type.has_struct:
            self.structs(self.old_structs[old.type.element], self.new_structs[new.type.element], path)

    def both(self, old: FieldSpec, new: FieldSpec) -> Versions:
        """Return the versions of both messages that hold the field in both."""
        return self.common & old.versions & new.versions

    def versions(self, old: FieldSpec, new: FieldSpec, path: str) -> None:
        before, after = old.versions & self.common, new.versions & self.common
        changed = [version for version in self.common if (version in before) != (version in after)]
        # Tagged fields may come and go.
        if any(
            not (old.tagged_in(version) if version in before else new.tagged_in(version))
            for version in changed
        ) or min(new.versions.highest, self.new.valid_versions.highest) < min(
            old.versions.highest, self.old.valid_versions.highest
        ):
            self.report("field_versions", path, f"versions {old.versions} become {new.versions}")

    def boxed(self, old: FieldSpec, new: FieldSpec) -> bool:
        """Return whether an array of a primitive type became an array of structs that are the same on the wire."""
        if not (old.type.is_array and new.type.is_struct_array) or old.type.has_struct:
            return False
        struct = self.new_structs[new.type.element]
        for version in self.both(old, new):
            inner = struct.regular_fields(version)
            if self.new.flexible_in(version) or len(inner) != 1:
                return False
            if str(inner[0].type) != old.type.element or inner[0].nullable_in(version):
                return False
        return True


def _left(struct: StructSpec, field: FieldSpec, known: set[str]) -> str:
    """Return the name of the nearest field before one that both structs have."""
    names = [other.name for other in struct.fields[: struct.fields.index(field)] if other.name in known]
    return names[-1] if names else ""
