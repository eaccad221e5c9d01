import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Writes messages to a topic, or prints those of a topic, as JSON a line, with Apicurio's serializers. */
public class ProtobufTopic {
    /** Finds a message in a FileDescriptorSet whose files stand behind those that they import. */
    static Descriptor find(byte[] set, String name) throws Exception {
        Map<String, FileDescriptor> files = new HashMap<>();
        for (FileDescriptorProto file : FileDescriptorSet.parseFrom(set).getFileList()) {
            FileDescriptor[] imports = file.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
            files.put(file.getName(), FileDescriptor.buildFrom(file, imports));
        }
        for (FileDescriptor file : files.values()) {
            if (!name.startsWith(file.getPackage() + ".")) {
                continue;
            }
            Descriptor found = null;
            for (String part : name.substring(file.getPackage().length() + 1).split("\\.")) {
                found = found == null ? file.findMessageTypeByName(part) : found.findNestedTypeByName(part);
                if (found == null) {
                    break;
                }
            }
            if (found != null) {
                return found;
            }
        }
        throw new IllegalArgumentException(name);
    }

    /** Stands for a generated class, which the deserializer calls for what is behind the frame. */
    public static class Value {
        static Descriptor type;

        public static DynamicMessage parseFrom(InputStream in) throws IOException {
            return DynamicMessage.parseFrom(type, in);
        }
    }

    static void write(Map<String, Object> settings, String topic, Descriptor type) throws Exception {
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var values = new ProtobufKafkaSerializer<DynamicMessage>();
        values.configure(settings, false);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), values)) {
            int row = 0;
            for (String line; (line = lines.readLine()) != null; row++) {
                DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
                JsonFormat.parser().merge(line, message);
                producer.send(new ProducerRecord<>(topic, String.format("%06d", row), message.build())).get();
            }
        }
    }

    static void read(Map<String, Object> settings, String topic, Descriptor type) throws Exception {
        Value.type = type;
        var values = new ProtobufKafkaDeserializer<DynamicMessage>();
        settings.put("apicurio.registry.deserializer.value.return-class", Value.class);
        values.configure(settings, false);
        Map<String, DynamicMessage> found = new TreeMap<>();
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
        for (DynamicMessage message : found.values()) {
            System.out.println(JsonFormat.printer().omittingInsignificantWhitespace().print(message));
        }
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", args[1]);
        settings.put("apicurio.registry.url", args[2]);
        settings.put("apicurio.registry.auto-register", "true");
        // Confluent's frame: message indexes rather than a name.
        settings.put("apicurio.registry.serde.send-indexes", "true");
        settings.put("apicurio.registry.serde.send-type-ref", "false");
        settings.put("apicurio.registry.serde.read-indexes", "true");
        settings.put("apicurio.registry.serde.read-type-ref", "false");
        // It looks for the message among those that are not nested.
        settings.put("apicurio.registry.serde.validation-enabled", "false");
        Descriptor type = find(Base64.getDecoder().decode(args[5]), args[4]);
        if (args[0].equals("write")) {
            write(settings, args[3], type);
        } else {
            read(settings, args[3], type);
        }
    }
}
