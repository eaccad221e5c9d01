import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.avro.AvroKafkaSerializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaSerializer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

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
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), values)) {
            int row = 0;
            for (String line; (line = lines.readLine()) != null; row++) {
                String key = String.format("%06d", row);
                producer.send(new ProducerRecord<>(topic, key, parsed(kind, schema, line))).get();
            }
        }
    }

    static void read(Map<String, Object> settings, String kind, String topic) {
        settings.put("apicurio.registry.deserializer.value.return-class", JsonNode.class.getName());
        Deserializer<?> values = kind.equals("AVRO") ? new AvroKafkaDeserializer<>() : new JsonSchemaKafkaDeserializer<>();
        values.configure(settings, false);
        Map<String, Object> found = new TreeMap<>();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), values)) {
            List<TopicPartition> places = consumer.partitionsFor(topic).stream()
                .map(each -> new TopicPartition(topic, each.partition())).toList();
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                consumer.poll(Duration.ofSeconds(1)).forEach(record -> found.put(record.key(), record.value()));
            }
        }
        found.values().forEach(System.out::println);
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
