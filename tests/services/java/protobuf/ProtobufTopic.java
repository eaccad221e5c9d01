import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufKafkaSerializer;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/**
 * Writes messages to a topic, or prints those of a topic, as JSON a line, with Apicurio's serializers.
 * Arguments: write or read, broker, registry, topic, message, its files (Base64), settings (name=value).
 */
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
        var values = new ProtobufKafkaSerializer<DynamicMessage>();
        values.configure(settings, false);
        Topic.write(settings, topic, values, line -> {
            DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
            JsonFormat.parser().merge(line, message);
            return message.build();
        });
    }

    static void read(Map<String, Object> settings, String topic, Descriptor type) throws Exception {
        Value.type = type;
        var values = new ProtobufKafkaDeserializer<DynamicMessage>();
        settings.put("apicurio.registry.deserializer.value.return-class", Value.class);
        values.configure(settings, false);
        for (DynamicMessage message : Topic.read(settings, topic, values)) {
            System.out.println(JsonFormat.printer().omittingInsignificantWhitespace().print(message));
        }
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", args[1]);
        settings.put("apicurio.registry.url", args[2]);
        settings.put("apicurio.registry.auto-register", "true");
        for (int each = 6; each < args.length; each++) {
            settings.put(args[each].substring(0, args[each].indexOf('=')), args[each].substring(args[each].indexOf('=') + 1));
        }
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
