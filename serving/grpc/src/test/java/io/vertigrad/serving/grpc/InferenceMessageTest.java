package io.vertigrad.serving.grpc;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DynamicMessage;
import io.vertigrad.serving.internal.InferenceService.Body;
import io.vertigrad.serving.internal.Refusal;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares messages with those that protobuf's own classes write and read. */
class InferenceMessageTest {

  private static final Pattern NUMBERED =
      Pattern.compile("^ +(?:repeated )?\\w[\\w<>, ]* (\\w+) = (\\d+);", Pattern.MULTILINE);

  private long taken;

  @ParameterizedTest
  @MethodSource("datatypes")
  void shouldGiveTheSameElementsWhenTheyAreTypedAndWhenTheyAreRaw(
      String datatype, String field, List<Object> values, byte[] expected) {
    byte[] typed =
        Messages.message(
            "ModelInferRequest",
            request ->
                Messages.add(
                    request,
                    "inputs",
                    tensor -> {
                      Messages.set(tensor, "datatype", datatype);
                      Messages.set(
                          tensor,
                          "contents",
                          contents ->
                              values.forEach(value -> Messages.append(contents, field, value)));
                    }));
    byte[] raw =
        Messages.message(
            "ModelInferRequest",
            request -> {
              Messages.add(request, "inputs", tensor -> Messages.set(tensor, "datatype", datatype));
              Messages.append(request, "raw_input_contents", ByteString.copyFrom(expected));
            });

    Body ofTyped = read(typed);
    Body ofRaw = read(raw);

    assertArrayEquals(expected, binary(ofTyped));
    assertArrayEquals(ofRaw.bytes(), ofTyped.bytes());
    assertEquals(
        new JsonObject()
            .put("name", "")
            .put("datatype", datatype)
            .put("shape", new JsonArray())
            .put("parameters", JsonObject.of("binary_data_size", expected.length)),
        json(ofTyped).getJsonArray("inputs").getJsonObject(0));
  }

  static Stream<Arguments> datatypes() {
    return Stream.of(
        Arguments.of("BOOL", "bool_contents", List.of(true, false), bytes(1, 0)),
        Arguments.of("INT8", "int_contents", List.of(-128, 127, -1), bytes(-128, 127, -1)),
        Arguments.of("INT16", "int_contents", List.of(-2, 258), bytes(-2, -1, 2, 1)),
        Arguments.of("INT32", "int_contents", List.of(-1), bytes(-1, -1, -1, -1)),
        Arguments.of(
            "INT64", "int64_contents", List.of(-2L), bytes(-2, -1, -1, -1, -1, -1, -1, -1)),
        Arguments.of("UINT8", "uint_contents", List.of(255), bytes(-1)),
        Arguments.of("UINT16", "uint_contents", List.of(65_535), bytes(-1, -1)),
        Arguments.of("UINT32", "uint_contents", List.of(-1), bytes(-1, -1, -1, -1)),
        Arguments.of("UINT64", "uint64_contents", List.of(1L), bytes(1, 0, 0, 0, 0, 0, 0, 0)),
        Arguments.of(
            "FP32", "fp32_contents", List.of(1f, -2f), bytes(0, 0, -128, 63, 0, 0, 0, -64)),
        Arguments.of("FP64", "fp64_contents", List.of(1d), bytes(0, 0, 0, 0, 0, 0, -16, 63)),
        Arguments.of(
            "BYTES",
            "bytes_contents",
            List.of(ByteString.copyFromUtf8("mo"), ByteString.EMPTY),
            bytes(2, 0, 0, 0, 'm', 'o', 0, 0, 0, 0)));
  }

  private static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }

  @Test
  void shouldReadEveryFieldOfARequest() {
    byte[] message =
        Messages.message(
            "ModelInferRequest",
            request -> {
              Messages.set(request, "model_name", "digits");
              Messages.set(request, "model_version", "12");
              Messages.set(request, "id", "seven");
              Messages.parameter(request, "a", "bool_param", true);
              Messages.parameter(request, "b", "int64_param", -3L);
              Messages.parameter(request, "c", "string_param", "text");
              Messages.parameter(request, "d", "double_param", 0.5);
              Messages.parameter(request, "e", "uint64_param", -1L);
              Messages.parameter(request, "binary_data_output", "bool_param", false);
              Messages.add(
                  request,
                  "inputs",
                  tensor -> {
                    Messages.set(tensor, "name", "input");
                    Messages.set(tensor, "datatype", "UINT8");
                    Messages.append(tensor, "shape", 2L);
                    Messages.append(tensor, "shape", 3L);
                    Messages.parameter(tensor, "binary_data_size", "int64_param", 999L);
                  });
              Messages.append(
                  request, "raw_input_contents", ByteString.copyFrom(bytes(1, 2, 3, 4, 5, 6)));
              Messages.add(request, "outputs", output -> Messages.set(output, "name", "class"));
            });

    Body body = read(message);

    assertEquals("digits", body.model());
    assertEquals("12", body.version());
    assertArrayEquals(bytes(1, 2, 3, 4, 5, 6), binary(body));
    assertEquals(
        new JsonObject(
            """
            {"id": "seven",
             "inputs": [{"name": "input", "datatype": "UINT8", "shape": [2, 3],
                         "parameters": {"binary_data_size": 6}}],
             "parameters": {"a": true, "b": -3, "c": "text", "d": 0.5,
                            "e": 18446744073709551615, "binary_data_output": true},
             "outputs": [{"name": "class", "parameters": {"binary_data": true}}]}
            """),
        json(body));
  }

  @Test
  void shouldWriteResponsesThatProtobufReads() throws Exception {
    JsonObject response =
        new JsonObject(
            """
            {"model_name": "digits", "model_version": "12", "id": "seven",
             "parameters": {"age_millis": 400},
             "outputs": [
               {"name": "output", "datatype": "FP32", "shape": [1, 2],
                "parameters": {"binary_data_size": 8}},
               {"name": "class", "datatype": "BYTES", "shape": [1],
                "parameters": {"binary_data_size": 5}}]}
            """);
    Buffer binary =
        Buffer.buffer()
            .appendIntLE(Float.floatToIntBits(0.25f))
            .appendIntLE(Float.floatToIntBits(0.75f))
            .appendIntLE(1)
            .appendString("1");
    InferenceMessage typed = new InferenceMessage(new byte[0], more -> {});
    typed.read();
    InferenceMessage raw = new InferenceMessage(oneRaw(new byte[0]), more -> {});
    raw.read();

    String ofTyped = parsed(typed.write(response, binary)).toString();
    DynamicMessage ofRaw = parsed(raw.write(response, binary));

    assertTrue(ofTyped.contains("fp32_contents: 0.25\n    fp32_contents: 0.75"), ofTyped);
    assertTrue(ofTyped.contains("bytes_contents: \"1\""), ofTyped);
    assertTrue(ofTyped.contains("shape: 1\n  shape: 2"), ofTyped);
    assertTrue(ofTyped.contains("key: \"age_millis\"\n  value {\n    int64_param: 400"), ofTyped);
    assertTrue(ofTyped.startsWith("model_name: \"digits\"\nmodel_version: \"12\"\nid: \"seven\""));
    assertEquals(
        List.of(
            ByteString.copyFrom(binary.getBytes(0, 8)),
            ByteString.copyFrom(binary.getBytes(8, 13))),
        Messages.get(ofRaw, "raw_output_contents"));
  }

  private static DynamicMessage parsed(Buffer message) throws Exception {
    return DynamicMessage.parseFrom(Messages.type("ModelInferResponse"), message.getBytes());
  }

  @Test
  void shouldSayWhatIsWrongWhenContentsDoNotFitTheirDatatype() {
    assertRefused(
        "inputs[0].contents: has 128, expected whole numbers from -128 to 127",
        typed("INT8", "int_contents", 128));
    assertRefused(
        "inputs[0].contents: has 256, expected whole numbers from 0 to 255",
        typed("UINT8", "uint_contents", 256));
    assertRefused(
        "inputs[0].contents: has field 7, expected only field 6, that of FP32",
        typed("FP32", "fp64_contents", 1d));
    assertRefused(
        "inputs[0].contents: has no field for FP16, expected raw_input_contents",
        typed("FP16", "fp32_contents", 1f));
    assertRefused(
        "raw_input_contents: has 1 elements, expected 2, one for each of inputs",
        Messages.message(
            "ModelInferRequest",
            request -> {
              Messages.add(request, "inputs", tensor -> {});
              Messages.add(request, "inputs", tensor -> {});
              Messages.append(request, "raw_input_contents", ByteString.EMPTY);
            }));
    assertRefused("message: is no ModelInferRequest", bytes(0x2A, 0x7F, 1));
    assertRefused(
        "parameters: has NaN, expected finite numbers",
        Messages.message(
            "ModelInferRequest",
            request -> Messages.parameter(request, "a", "double_param", Double.NaN)));
  }

  private static byte[] typed(String datatype, String field, Object value) {
    return Messages.message(
        "ModelInferRequest",
        request ->
            Messages.add(
                request,
                "inputs",
                tensor -> {
                  Messages.set(tensor, "datatype", datatype);
                  Messages.set(
                      tensor, "contents", contents -> Messages.append(contents, field, value));
                }));
  }

  private void assertRefused(String expected, byte[] message) {
    Refusal why = assertThrows(Refusal.class, () -> read(message));
    assertEquals(Code.INVALID, why.code());
    assertTrue(why.getMessage().startsWith(expected), why.getMessage());
  }

  @Test
  void shouldAskForMemoryBeforeASmallRequestTakesMuch() {
    ByteBuffer tensors = ByteBuffer.allocate(200_000);
    while (tensors.hasRemaining()) {
      tensors.put((byte) 0x2A).put((byte) 0);
    }
    // Each byte is an element of eight.
    byte[] numbers = new byte[100_000];
    Arrays.fill(numbers, (byte) 1);
    byte[] wide =
        Messages.message(
            "ModelInferRequest",
            request ->
                Messages.add(
                    request,
                    "inputs",
                    tensor -> {
                      Messages.set(tensor, "datatype", "INT64");
                      Messages.set(
                          tensor,
                          "contents",
                          contents -> {
                            for (byte number : numbers) {
                              Messages.append(contents, "int64_contents", (long) number);
                            }
                          });
                    }));

    assertThrows(
        IllegalStateException.class,
        () -> new InferenceMessage(tensors.array(), this::limited).read());
    taken = 0;
    read(wide);

    assertTrue(taken >= 2 * 800_000, () -> taken + " bytes");
  }

  private void limited(long bytes) {
    taken += bytes;
    if (taken > 1 << 20) {
      throw new IllegalStateException("1 MiB is taken");
    }
  }

  @Test
  void shouldRefuseButNeverFailWhenBytesAreDamaged() {
    byte[] whole = typed("FP32", "fp32_contents", 1f);
    byte[] other = oneRaw(new byte[] {1, 2, 3});
    Random random = new Random(7);
    int refused = 0;
    for (int i = 0; i < 20_000; i++) {
      byte[] damaged = (i % 2 == 0 ? whole : other).clone();
      for (int k = 0; k <= random.nextInt(3); k++) {
        damaged[random.nextInt(damaged.length)] = (byte) random.nextInt(256);
      }
      damaged = Arrays.copyOf(damaged, 1 + random.nextInt(damaged.length));
      try {
        read(damaged);
      } catch (Refusal why) {
        refused++;
      }
    }
    assertTrue(refused > 1_000 && refused < 20_000, refused + " refused");
  }

  private static byte[] oneRaw(byte[] elements) {
    return Messages.message(
        "ModelInferRequest",
        request -> {
          Messages.add(request, "inputs", tensor -> Messages.set(tensor, "name", "input"));
          Messages.append(request, "raw_input_contents", ByteString.copyFrom(elements));
        });
  }

  @Test
  void shouldDescribeTheFilesBesideItWhenClientsAskByReflection() throws Exception {
    for (FileDescriptorProto file : Messages.files()) {
      String text;
      try (InputStream in = InferenceMessage.class.getResourceAsStream(file.getName())) {
        text = new String(in.readAllBytes(), StandardCharsets.UTF_8);
      }
      TreeSet<String> written = new TreeSet<>();
      NUMBERED.matcher(text).results().forEach(f -> written.add(f.group(1) + f.group(2)));
      TreeSet<String> described = new TreeSet<>();
      file.getMessageTypeList().forEach(type -> addFields(type, described));

      assertEquals(written, described, file.getName());
      file.getServiceList()
          .forEach(
              service ->
                  service
                      .getMethodList()
                      .forEach(
                          method ->
                              assertTrue(
                                  text.contains("rpc " + method.getName() + "("),
                                  method.getName())));
    }
  }

  private static void addFields(DescriptorProto type, TreeSet<String> names) {
    if (!type.getOptions().getMapEntry()) {
      for (FieldDescriptorProto field : type.getFieldList()) {
        names.add(field.getName() + field.getNumber());
      }
    }
    type.getNestedTypeList().forEach(inner -> addFields(inner, names));
  }

  private Body read(byte[] message) {
    return new InferenceMessage(message, more -> taken += more).read();
  }

  private static JsonObject json(Body body) {
    return new JsonObject(Buffer.buffer(body.bytes()).slice(0, body.headerBytes()));
  }

  private static byte[] binary(Body body) {
    return Arrays.copyOfRange(body.bytes(), body.headerBytes(), body.bytes().length);
  }
}
