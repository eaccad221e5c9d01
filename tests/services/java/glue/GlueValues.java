import com.amazonaws.services.schemaregistry.deserializers.GlueSchemaRegistryKafkaDeserializer;
import com.amazonaws.services.schemaregistry.serializers.GlueSchemaRegistryKafkaSerializer;
import com.amazonaws.services.schemaregistry.serializers.json.JsonDataWithSchema;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;

/**
 * Writes or reads values with AWS's serializers: one a line, framed ones in Base64, data in JSON or (Protobuf) Base64.
 * Arguments: write or read, AVRO, JSON or PROTOBUF, topic, schema (Protobuf: file and message), settings (name=value).
 */
public class GlueValues {
    static Object parsed(String kind, String schema, String line) throws Exception {
        if (kind.equals("JSON")) {
            return JsonDataWithSchema.builder(schema, line).build();
        }
        if (kind.equals("PROTOBUF")) {
            return DynamicMessage.parseFrom(descriptor(schema), Base64.getDecoder().decode(line));
        }
        Schema type = new Schema.Parser().parse(schema);
        return new GenericDatumReader<>(type).read(null, DecoderFactory.get().jsonDecoder(type, line));
    }

    /** Finds a message in a file without imports. */
    static Descriptor descriptor(String schema) throws Exception {
        byte[] set = Base64.getDecoder().decode(schema.substring(0, schema.indexOf(' ')));
        var file = FileDescriptor.buildFrom(FileDescriptorSet.parseFrom(set).getFile(0), new FileDescriptor[0]);
        return file.findMessageTypeByName(schema.substring(schema.indexOf(' ') + 1));
    }

    static String printed(Object value) {
        if (value instanceof DynamicMessage) {
            return Base64.getEncoder().encodeToString(((DynamicMessage) value).toByteArray());
        }
        return value instanceof JsonDataWithSchema ? ((JsonDataWithSchema) value).getPayload() : value.toString();
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        Map<String, Object> settings = new HashMap<>();
        settings.put("dataFormat", args[1]);
        settings.put("avroRecordType", "GENERIC_RECORD");
        settings.put("protobufMessageType", "DYNAMIC_MESSAGE");
        settings.put("schemaAutoRegistrationEnabled", "true");
        for (String each : List.of(args).subList(4, args.length)) {
            settings.put(each.substring(0, each.indexOf('=')), each.substring(each.indexOf('=') + 1));
        }
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var serializer = new GlueSchemaRegistryKafkaSerializer();
        var deserializer = new GlueSchemaRegistryKafkaDeserializer();
        if (args[0].equals("write")) {
            serializer.configure(settings, false);
        } else {
            deserializer.configure(settings, false);
        }
        for (String line; (line = lines.readLine()) != null;) {
            if (args[0].equals("write")) {
                byte[] value = serializer.serialize(args[2], parsed(args[1], args[3], line));
                System.out.println(Base64.getEncoder().encodeToString(value));
            } else {
                System.out.println(printed(deserializer.deserialize(args[2], Base64.getDecoder().decode(line))));
            }
        }
    }
}
