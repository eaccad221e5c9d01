"""The rules of message definitions that take the whole message, in the order in which Kafka's generator checks them.

The generator finds these while it writes code, so that the first one broken depends on its passes: structs are
registered, schemas of all versions made, and then each class written, outer structs before inner ones.
"""

from collections.abc import Callable

from kcodec.protocol.spec.json import SpecError
from kcodec.protocol.spec.model import FieldSpec, MessageModel, StructSpec
from kcodec.protocol.spec.versions import MAX_VERSION, Versions

#: Fields that a message may have with its structs written out where they stand. The generator makes one class of each
#: struct; plans, columns and grammars repeat it, and common structs within common structs multiply.
_MAX_FIELDS = 10_000

#: Structs within structs: far more than messages can be read of.
_MAX_LEVELS = 100


def validate(spec: MessageModel) -> None:
    """Raise `SpecError` for the first rule of Kafka's generator that a definition breaks, in the generator's words."""
    try:
        _Generator(spec).run()
    except SpecError as error:
        raise SpecError(error.reason, error.rule, error.path, spec.file) from None


class _Generator:
    """The passes of the generator over one message."""

    def __init__(self, spec: MessageModel) -> None:
        self.spec = spec
        self.common = {struct.name for struct in spec.common_structs}
        self.structs: dict[str, StructSpec] = {}
        self.lowest: dict[str, int | None] = {}  # first version that a struct has a schema in
        self.written_out: dict[str, int] = {}  # fields of a struct and of all in it
        self.levels: dict[str, int] = {}  # of structs in it, itself included

    def run(self) -> None:
        spec = self.spec
        if MAX_VERSION in spec.valid_versions:
            raise SpecError(f"Message {spec.name} does not specify a maximum version.", "open_valid_versions")
        self._register()
        for name in sorted(self.common):
            self._schemas(name, self.structs[name], spec.valid_versions, name)
        self._schemas("", spec.struct, spec.valid_versions, "")
        if spec.struct.has_keys:
            path = next(field.name for field in spec.fields if field.map_key)
            raise SpecError("Cannot set mapKey on top level fields.", "top_level_key", path)
        self._class(spec.struct, spec.valid_versions, "")
        for name in sorted(self.common):
            self._class(self.structs[name], self.structs[name].versions, name)

    def _register(self) -> None:
        seen: set[str] = set()
        for struct in self.spec.common_structs:
            name = struct.name
            if not name[:1].isupper():
                raise SpecError(
                    f"Can't process structure {name}: the first letter of structure names must be capitalized.",
                    "struct_name",
                    name,
                )
            if name in seen:
                raise SpecError(f"Common struct {name} was specified twice.", "duplicate_struct", name)
            seen.add(name)
            self.structs[name] = struct
        self._register_inline(self.spec.fields, "")

    def _register_inline(self, fields: tuple[FieldSpec, ...], path: str) -> None:
        for field in fields:
            if not field.type.has_struct:
                continue
            name, below = field.type.element, _join(path, field)
            if name in self.common:
                if field.fields:
                    raise SpecError(
                        f"Can't re-specify the common struct {name} as an inline struct.",
                        "common_struct_inline",
                        below,
                    )
            elif name in self.structs:
                raise SpecError(f"Struct {name} was specified twice.", "duplicate_struct", below)
            else:
                self.structs[name] = StructSpec(name, field.versions, field.fields)
            self._register_inline(field.fields, below)

    def _struct(self, field: FieldSpec, path: str) -> StructSpec:
        struct = self.structs.get(field.type.element)
        if struct is None:
            raise SpecError(
                f"Unable to locate a specification for the structure {field.type.element}",
                "unknown_struct",
                _join(path, field),
            )
        return struct

    def _schemas(self, name: str, struct: StructSpec, parent: Versions, path: str) -> None:
        if name in self.lowest:
            return
        self._check_levels(path.count("."), path)
        versions = parent & struct.versions
        self.lowest[name] = None
        for field in struct.fields:
            if field.type.has_struct:
                inner = self._struct(field, path)
                self._schemas(inner.name, inner, versions, _join(path, field))
        inner_names = [field.type.element for field in struct.fields]
        self.levels[name] = 1 + max((self.levels.get(inner, 0) for inner in inner_names), default=0)
        self._check_levels(self.levels[name], path)
        self.written_out[name] = len(inner_names) + sum(
            self.written_out.get(inner, 0) for inner in inner_names
        )
        if self.written_out[name] > _MAX_FIELDS:
            reason = (
                f"There are more than {_MAX_FIELDS} fields in {struct.name}, with its structs written out."
            )
            raise SpecError(reason, "written_out_fields", path)
        for version in versions:
            for field in struct.fields:
                if version in field.versions and field.type.has_struct:
                    lowest = self.lowest[field.type.element]
                    if lowest is None or lowest > version:
                        raise SpecError(
                            f"Struct {field.type.element} has no version {version}: it contains itself, or its "
                            f"versions begin later than those of field {field.name}.",
                            "recursive_struct" if lowest is None else "struct_versions",
                            _join(path, field),
                        )
        if not versions.empty:
            self.lowest[name] = versions.lowest

    def _check_levels(self, levels: int, path: str) -> None:
        if levels > _MAX_LEVELS:
            raise SpecError(f"Structs are nested deeper than {_MAX_LEVELS} levels.", "nesting", path)

    def _class(self, struct: StructSpec, parent: Versions, path: str) -> None:
        for field in struct.fields:
            _at(path, field, FieldSpec.check_default)
        versions = parent & struct.versions
        if versions.empty:
            raise SpecError(
                f"Version ranges {parent} and {struct.versions} have no versions in common.",
                "no_common_versions",
                path,
            )
        for field in struct.fields:
            _at(path, field, self._check_flexible)
            if str(field.type) == "[]records" and not (field.versions & versions).empty:
                raise SpecError("Unsupported field type records", "records_array", _join(path, field))
        for field in struct.fields:
            if str(field.type) == "records" and not (field.tagged_versions & versions).empty:
                raise SpecError(
                    f"Unsupported attempt to declare field `{field.name}` with `records` type as a tagged field.",
                    "tagged_records",
                    _join(path, field),
                )
        for field in struct.fields:
            if field.type.has_struct and field.type.element not in self.common:
                self._class(self._struct(field, path), parent & struct.versions, _join(path, field))

    def _check_flexible(self, field: FieldSpec) -> None:
        flexible = self.spec.flexible_versions
        if field.flexible_versions is not None:
            if flexible & field.flexible_versions != field.flexible_versions:
                raise SpecError(
                    f"The flexible versions for field {field.name} are {field.flexible_versions}, which are not a "
                    f"subset of the flexible versions for the message as a whole, which are {flexible}",
                    "flexible_versions_outside",
                )
            flexible = field.flexible_versions
        if field.tagged_versions & flexible != field.tagged_versions:
            raise SpecError(
                f"Field {field.name} specifies tagged versions {field.tagged_versions} that are not a subset of the "
                f"flexible versions {flexible}",
                "tagged_versions_not_flexible",
            )


def _join(path: str, field: FieldSpec) -> str:
    return f"{path}.{field.name}" if path else field.name


def _at(path: str, field: FieldSpec, check: Callable[[FieldSpec], None]) -> None:
    try:
        check(field)
    except SpecError as error:
        raise SpecError(error.reason, error.rule, _join(path, field)) from None
