import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Prints the records of a partition as Java's consumer reads them: offset, timestamp, key, value, headers. */
public class ReadTopic {
    static String hex(byte[] bytes) {
        return bytes == null ? "null" : HexFormat.of().formatHex(bytes);
    }

    public static void main(String[] args) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", args[0]);
        settings.put("isolation.level", "read_committed");
        TopicPartition place = new TopicPartition(args[1], Integer.parseInt(args[2]));
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(place));
            consumer.seekToBeginning(List.of(place));
            long end = consumer.endOffsets(List.of(place)).get(place);
            while (consumer.position(place) < end) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    StringBuilder line = new StringBuilder();
                    line.append(record.offset()).append(' ').append(record.timestamp()).append(' ');
                    line.append(hex(record.key())).append(' ').append(hex(record.value()));
                    for (Header header : record.headers()) {
                        line.append(' ').append(header.key()).append('=').append(hex(header.value()));
                    }
                    System.out.println(line);
                }
            }
        }
    }
}
