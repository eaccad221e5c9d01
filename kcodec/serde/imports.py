"""References to what a schema imports, registered before it."""

from kcodec.errors import SchemaError
from kcodec.registry.base import Reference, Schema
from kcodec.serde.topic import Given, TopicSchemas


def with_references(topic: TopicSchemas, given: Given) -> Schema:
    """Return a schema with references to its imports: registered leaf first, or looked up.

    One that has references keeps them, and an import without a text gets none, as by Confluent's
    ``AbstractKafkaProtobufSerializer``.
    """
    texts = {each.name: each.text for each in given.imports}
    found: dict[str, Reference] = {}
    pending: list[str] = []

    def refer(name: str) -> Reference:
        if name in pending:
            raise SchemaError(f"imports form a circle: {' -> '.join([*pending, name])}")
        if name not in found:
            pending.append(name)
            found[name] = _reference(topic, name, complete(Schema(texts[name], topic.format.type)))
            pending.pop()
        return found[name]

    def complete(schema: Schema) -> Schema:
        names = [name for name in topic.format.imports(schema.text) if name in texts]
        references = tuple(refer(name) for name in names)
        return Schema(schema.text, schema.type, references, schema.metadata, schema.rules)

    return given.schema if given.schema.references or not texts else complete(given.schema)


def _reference(topic: TopicSchemas, name: str, schema: Schema) -> Reference:
    config, registry, subject = topic.config, topic.registry, topic.format.reference_subject(name)
    if config.registers and not config.lookup_references:
        found = registry.register(subject, schema, normalize=config.normalize)
    elif config.use_latest and not config.registers:
        found = registry.get_version(subject)
    else:
        found = registry.lookup(subject, schema, normalize=config.normalize)
    if found.version is None:
        # Older servers answer with the id alone.
        found = registry.lookup(subject, schema, normalize=config.normalize)
    return Reference(name, subject, found.version or -1)
