import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The values of a topic, whose keys are their numbers. */
public class Topic {
    /** What makes a value of a line of text. */
    interface Parser<T> {
        T parse(String line) throws Exception;
    }

    /** Writes a value for each line of standard input. */
    static <T> void write(Map<String, Object> settings, String topic, Serializer<T> values, Parser<T> parser)
            throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), values)) {
            int row = 0;
            for (String line; (line = lines.readLine()) != null; row++) {
                producer.send(new ProducerRecord<>(topic, String.format("%06d", row), parser.parse(line))).get();
            }
        }
    }

    /** Returns the values that are there now, in the order of their keys. */
    static <T> Collection<T> read(Map<String, Object> settings, String topic, Deserializer<T> values) {
        Map<String, T> found = new TreeMap<>();
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
        return found.values();
    }
}
