import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.avro.AvroSchema;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.CachedSchemaRegistryClient;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.Config;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.Metadata;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.entities.SchemaReference;
import org.apache.flink.avro.registry.confluent.shaded.io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import org.apache.flink.avro.shaded.org.apache.avro.Schema;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericDatumReader;
import org.apache.flink.avro.shaded.org.apache.avro.generic.GenericRecord;
import org.apache.flink.avro.shaded.org.apache.avro.io.DecoderFactory;
import org.apache.flink.formats.avro.registry.confluent.ConfluentRegistryAvroDeserializationSchema;
import org.apache.flink.formats.avro.registry.confluent.ConfluentRegistryAvroSerializationSchema;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes records to a topic, or prints those of a topic, as JSON a line, with Flink's serializers of Avro over
 * Confluent's Java client; or prints what that client gets of the registry.
 */
public class ConfluentTopic {
    static void write(Map<String, Object> settings, String url, String topic, Schema schema) throws Exception {
        var values = ConfluentRegistryAvroSerializationSchema.forGeneric(topic + "-value", schema, url);
        var reader = new GenericDatumReader<GenericRecord>(schema);
        Topic.write(settings, topic, new ByteArraySerializer(),
            line -> values.serialize(reader.read(null, DecoderFactory.get().jsonDecoder(schema, line))));
    }

    static void read(Map<String, Object> settings, String url, String topic, Schema schema) throws Exception {
        var values = ConfluentRegistryAvroDeserializationSchema.forGeneric(schema, url);
        for (byte[] value : Topic.read(settings, topic, new ByteArrayDeserializer())) {
            System.out.println(values.deserialize(value));
        }
    }

    /** What a request of the client comes to. */
    interface Request {
        Object get() throws Exception;
    }

    static void show(String name, Request request) throws Exception {
        try {
            System.out.println(name + ": " + request.get());
        } catch (RestClientException error) {
            System.out.println(name + ": " + error.getStatus() + " " + error.getErrorCode());
        }
    }

    static void ask(String url, String subject) throws Exception {
        var client = new CachedSchemaRegistryClient(url, 100);
        String base = subject + "-base";
        var item = new AvroSchema("{\"type\":\"record\",\"name\":\"Item\",\"fields\":[{\"name\":\"n\",\"type\":\"int\"}]}");
        var text = "{\"type\":\"record\",\"name\":\"Cart\",\"fields\":[{\"name\":\"first\",\"type\":\"Item\"}]}";
        int first = client.register(base, item);
        var reference = List.of(new SchemaReference("Item", base, 1));
        var cart = new AvroSchema(text, reference, Map.of("Item", item.canonicalString()), null);
        int second = client.register(subject, cart);
        var fresh = new CachedSchemaRegistryClient(url, 100);
        show("ids in order", () -> first < second);
        show("schema", () -> fresh.getSchemaById(first).canonicalString());
        show("references", () -> fresh.getSchemaById(second).references().size());
        show("resolved", () -> ((AvroSchema) fresh.getSchemaById(second)).rawSchema().getField("first").schema());
        show("id", () -> fresh.getId(subject, cart) == second);
        show("version", () -> fresh.getVersion(subject, cart));
        show("versions", () -> fresh.getAllVersions(subject));
        show("latest", () -> fresh.getLatestSchemaMetadata(subject).getVersion());
        show("subjects", () -> fresh.getAllSubjectsByPrefix(subject));
        show("subjects of id", () -> fresh.getAllSubjectsById(second));
        show("versions of id", () -> fresh.getAllVersionsById(second).size());
        show("all schemas", () -> fresh.getSchemas(subject, false, true).size());
        show("of a subject", () -> fresh.getSchemaBySubjectAndId(subject, second).equals(cart));
        show("normalized", () -> client.register(subject, cart, true) == second);
        show("given an id", () -> client.register(subject + "-import", item, 1, 1_000_000));
        show("all modes", () -> fresh.getMode());
        show("all levels", () -> fresh.getConfig(null).getCompatibilityLevel());
        show("compatible", () -> client.testCompatibility(base, new AvroSchema("\"int\"")));
        show("why not", () -> client.testCompatibilityVerbose(base, new AvroSchema("\"int\"")).size() > 0);
        show("incompatible", () -> client.register(base, new AvroSchema("\"int\"")));
        show("no config", () -> client.getConfig(base).getCompatibilityLevel());
        show("set config", () -> client.updateConfig(base, new Config("NONE")).getCompatibilityLevel());
        show("config", () -> client.getConfig(base).getCompatibilityLevel());
        var owner = new Metadata(null, Map.of("owner", "shop"), null);
        show("tagged", () -> client.register(base, new AvroSchema("\"int\"").copy(owner, null)) > second);
        show("with metadata", () -> client.getLatestWithMetadata(base, Map.of("owner", "shop"), false).getVersion());
        show("mode", () -> client.setMode("READONLY", base) + " " + client.getMode(base));
        show("read only", () -> client.register(base, new AvroSchema("\"long\"")));
        client.deleteMode(base);
        show("referred to", () -> client.deleteSchemaVersion(Map.of(), base, "1", false));
        show("a version deleted", () -> client.deleteSchemaVersion(Map.of(), base, "2", false));
        show("deleted ones too", () -> fresh.getAllVersions(base, true));
        show("deleted", () -> client.deleteSubject(subject, false));
        show("deleted for good", () -> client.deleteSubject(subject, true));
        show("gone", () -> fresh.getAllVersions(subject));
        show("no schema", () -> fresh.getSchemaById(1_999_999));
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        if (args[0].equals("ask")) {
            ask(args[1], args[2]);
            return;
        }
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", args[2]);
        Schema schema = new Schema.Parser().parse(args[4]);
        if (args[0].equals("write")) {
            write(settings, args[1], args[3], schema);
        } else {
            read(settings, args[1], args[3], schema);
        }
    }
}
