import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.message.BinaryMessageDecoder;
import org.apache.avro.message.BinaryMessageEncoder;

/**
 * Writes or reads single objects with Avro's own encoder and decoder: one a line, in Base64, data in JSON.
 * Arguments: write and a schema; or read, the schema to read as, and those that values were written with.
 */
public class SingleObjects {
    public static void main(String[] args) throws Exception {
        Schema schema = new Schema.Parser().parse(args[1]);
        var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var encoder = new BinaryMessageEncoder<Object>(GenericData.get(), schema);
        var decoder = new BinaryMessageDecoder<Object>(GenericData.get(), schema);
        for (String each : List.of(args).subList(2, args.length)) {
            decoder.addSchema(new Schema.Parser().parse(each));
        }
        for (String line; (line = lines.readLine()) != null;) {
            if (args[0].equals("write")) {
                var json = DecoderFactory.get().jsonDecoder(schema, line);
                ByteBuffer value = encoder.encode(new GenericDatumReader<>(schema).read(null, json));
                System.out.println(Base64.getEncoder().encodeToString(value.array()));
            } else {
                System.out.println(decoder.decode(Base64.getDecoder().decode(line)));
            }
        }
    }
}
