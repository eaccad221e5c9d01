import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

/**
 * Reads values with Kafka's JsonConverter, and writes what was read again.
 *
 * A line is settings (name=value, separated by commas), a tab, and the value in Base64. The answer to it is a word, a
 * tab, and Base64: "written" and the value written again, "null", or "refused" and the exception's message.
 */
public class Converter {
    private final Map<String, JsonConverter> converters = new HashMap<>();

    private JsonConverter converter(String settings) {
        return converters.computeIfAbsent(settings, text -> {
            Map<String, Object> config = new HashMap<>();
            for (String setting : text.split(",")) {
                String[] parts = setting.split("=", 2);
                config.put(parts[0], parts[1]);
            }
            JsonConverter made = new JsonConverter();
            made.configure(config, false);
            return made;
        });
    }

    private String answer(String line) {
        String[] parts = line.split("\t", 2);
        JsonConverter converter = converter(parts[0]);
        try {
            SchemaAndValue read = converter.toConnectData("topic", Base64.getDecoder().decode(parts[1]));
            byte[] written = converter.fromConnectData("topic", read.schema(), read.value());
            return written == null ? "null\t" : "written\t" + Base64.getEncoder().encodeToString(written);
        } catch (RuntimeException refused) {
            byte[] message = String.valueOf(refused.getMessage()).getBytes(StandardCharsets.UTF_8);
            return "refused\t" + Base64.getEncoder().encodeToString(message);
        }
    }

    public static void main(String[] args) throws Exception {
        Converter converter = new Converter();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.println(converter.answer(line));
        }
        out.flush();
    }
}
