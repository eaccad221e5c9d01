import io.debezium.transforms.ExtractNewRecordState;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.sink.SinkRecord;

/**
 * Lets Debezium's ExtractNewRecordState take the rows out of change events.
 *
 * The arguments are settings (name=value). A line is an event in Connect's JSON, in Base64; an empty one is a tombstone.
 * The answer is "dropped", or "kept", a tab, and the row as JSON in Base64, which is empty for a tombstone.
 */
public class Transform {
    private static JsonConverter converter(boolean schemas) {
        JsonConverter made = new JsonConverter();
        made.configure(Map.of("schemas.enable", schemas), false);
        return made;
    }

    public static void main(String[] args) throws Exception {
        Map<String, String> settings = new HashMap<>();
        for (String arg : args) {
            String[] parts = arg.split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        ExtractNewRecordState<SinkRecord> transform = new ExtractNewRecordState<>();
        transform.configure(settings);
        JsonConverter reader = converter(true);
        JsonConverter writer = converter(false);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.US_ASCII);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            byte[] event = line.isEmpty() ? null : Base64.getDecoder().decode(line);
            SchemaAndValue read = reader.toConnectData("orders", event);
            SinkRecord record = new SinkRecord("orders", 0, null, null, read.schema(), read.value(), 0);
            SinkRecord found = transform.apply(record);
            if (found == null) {
                out.println("dropped\t");
            } else {
                byte[] row = writer.fromConnectData("orders", found.valueSchema(), found.value());
                out.println("kept\t" + (row == null ? "" : Base64.getEncoder().encodeToString(row)));
            }
        }
        out.flush();
    }
}
