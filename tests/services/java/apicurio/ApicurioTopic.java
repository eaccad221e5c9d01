import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;

/**
 * Writes values to a topic, or prints those of a topic, as JSON a line, with Apicurio's serializers of Avro or JSON.
 * Arguments: write or read, AVRO or JSON, topic, schema of Avro values, settings (name=value).
 */
public class ApicurioTopic {
    static Object parsed(String kind, String schema, String line) throws IOException {
        if (kind.equals("JSON")) {
            return new ObjectMapper().readTree(line);
        }
        Schema type = new Schema.Parser().parse(schema);
        return new GenericDatumReader<>(type).read(null, DecoderFactory.get().jsonDecoder(type, line));
    }

    static void write(Map<String, Object> settings, String kind, String topic, String schema) throws Exception {
        Serializer<Object> values = kind.equals("AVRO") ? new AvroKafkaSerializer<>() : new JsonSchemaKafkaSerializer<>();
        values.configure(settings, false);
        Topic.write(settings, topic, values, line -> parsed(kind, schema, line));
    }

    static void read(Map<String, Object> settings, String kind, String topic) {
        settings.put("apicurio.registry.deserializer.value.return-class", JsonNode.class.getName());
        Deserializer<Object> values = kind.equals("AVRO") ? new AvroKafkaDeserializer<>() : new JsonSchemaKafkaDeserializer<>();
        values.configure(settings, false);
        Topic.read(settings, topic, values).forEach(System.out::println);
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        Map<String, Object> settings = new HashMap<>();
        for (String each : List.of(args).subList(4, args.length)) {
            int at = each.indexOf('=');
            settings.put(each.substring(0, at), each.substring(at + 1));
        }
        if (args[0].equals("write")) {
            write(settings, args[1], args[2], args[3]);
        } else {
            read(settings, args[1], args[2]);
        }
    }
}
