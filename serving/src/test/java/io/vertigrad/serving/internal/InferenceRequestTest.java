package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.data.files.ImageFile.Treatment;
import io.vertigrad.serving.internal.InferenceRequest.Form;
import io.vertigrad.serving.internal.InferenceTensor.Type;
import io.vertigrad.serving.internal.PredictionRequest.PredictionAnswer;
import io.vertigrad.serving.internal.Refusal.Code;
import io.vertx.core.MultiMap;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.LongConsumer;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads requests for models of different inputs, without a model. */
class InferenceRequestTest {

  private static final int MOST = 8 << 20;
  private static final LongConsumer ANY = bytes -> {};
  private static final SampleFormat PAIRS = format(List.of(2, 2), 0, List.of(), null);
  private static final SampleFormat TOKENS = format(List.of(2), 10, List.of(), null);
  private static final SampleFormat GREY =
      format(List.of(1, 28, 28), 0, List.of(Normalisation.MNIST.table()), null);
  private static final SampleFormat TABLE = format(List.of(2), 0, List.of(), new Columns());

  /** Two columns; as an input, a word is its number of characters. A missing number is -1. */
  private static final class Columns implements FieldReader {

    @Override
    public List<Field> fields() {
      return List.of(new Field("demand", false), new Field("day", true));
    }

    @Override
    public void read(Map<String, ?> sample, float[] features, int offset) {
      Object demand = sample.get("demand");
      if (demand instanceof String) {
        throw new DataException("field \"demand\": is a text");
      }
      features[offset] = demand == null ? -1 : 10 * ((Number) demand).floatValue();
      features[offset + 1] = String.valueOf(sample.get("day")).length();
    }
  }

  private static SampleFormat format(
      List<Integer> shape, int tokens, List<float[]> tables, FieldReader fields) {
    return new SampleFormat(
        "test",
        shape,
        Targets.classes(3),
        tokens,
        List.of(),
        Optional.empty(),
        Optional.ofNullable(fields),
        tables,
        Treatment.ON_BLACK);
  }

  @ParameterizedTest
  @CsvSource({
    "UINT8, 0 255 1 2, 00ff0102",
    "INT8, -128 127 0 -1, 807f00ff",
    "UINT16, 65535 0 1 2, ffff000001000200",
    "INT16, -32768 32767 0 1, 0080ff7f00000100",
    "UINT32, 4294967295 0 1 2, ffffffff000000000100000002000000",
    "INT32, -2147483648 1 1.0 1e2, 00000080010000000100000064000000",
    "UINT64, 18446744073709551615 0 1 9223372036854775808,"
        + " ffffffffffffffff000000000000000001000000000000000000000000000080",
    "INT64, -9223372036854775808 9223372036854775807 0 1,"
        + " 0000000000000080ffffffffffffff7f00000000000000000100000000000000",
    "FP16, 1 -2 65504 0.1, 003c00c0ff7b662e",
    "BF16, 1 -2 0.5 0.1, 803f00c0003fcd3d",
    "FP32, 1 -2 0.5 0.1, 0000803f000000c00000003fcdcccc3d",
    "FP64, 1 -2 0.5 0.1, 000000000000f03f00000000000000c0000000000000e03f9a9999999999b93f",
    "BOOL, true false false true, 01000001"
  })
  void shouldReadTheSameNumbersInJsonAndInBinary(Type type, String elements, String bytes) {
    byte[] binary = new BigInteger("1" + bytes, 16).toByteArray();
    binary = Arrays.copyOfRange(binary, 1, binary.length);

    float[] ofJson =
        read(PAIRS, tensor("input", type, "[1,2,2]", "[" + elements.replace(' ', ',') + "]"));
    float[] ofBinary = readBinary(PAIRS, type, "[1,2,2]", binary);

    assertArrayEquals(ofJson, ofBinary);
    String first = elements.split(" ")[0];
    assertEquals(type == Type.BOOL ? 1 : Float.parseFloat(first), ofJson[0]);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "UINT8 | 256 | is 256, expected a whole number from 0 to 255 (UINT8)",
        "UINT8 | -1 | is -1, expected a whole number from 0 to 255 (UINT8)",
        "UINT8 | 1.5 | is 1.5, expected a whole number from 0 to 255 (UINT8)",
        "UINT8 | 1e99 | is 1e99, expected a whole number from 0 to 255 (UINT8)",
        "UINT8 | true | is true, expected a number",
        "UINT8 | \"7\" | is \"7\", expected a number",
        "UINT8 | {\"a\":1} | is an object, expected a number",
        "INT8 | 128 | is 128, expected a whole number from -128 to 127 (INT8)",
        "INT8 | -129 | is -129, expected a whole number from -128 to 127 (INT8)",
        "UINT16 | 65536 | is 65536, expected a whole number from 0 to 65535 (UINT16)",
        "INT32 | 2147483648 | is 2147483648, expected a whole number from -2147483648 to 2147483647 (INT32)",
        "INT64 | 9223372036854775808 | is 9223372036854775808, expected a whole number from -9223372036854775808 to 9223372036854775807 (INT64)",
        "INT64 | 9.223372036854775808e18 | is 9.223372036854775808e18, expected a whole number from -9223372036854775808 to 9223372036854775807 (INT64)",
        "UINT64 | 18446744073709551616 | is 18446744073709551616, expected a whole number from 0 to 18446744073709551615 (UINT64)",
        "UINT64 | -1 | is -1, expected a whole number from 0 to 18446744073709551615 (UINT64)",
        "BOOL | 1 | is 1, expected true or false",
        "FP16 | 65520 | is 65520, expected a finite number in the range of FP16",
        "BF16 | 3.4e38 | is 3.4e38, expected a finite number in the range of BF16",
        "FP32 | 1e400 | is 1e400, expected a finite number in the range of FP32",
        "FP32 | -1e39 | is -1e39, expected a finite number in the range of FP32",
        "FP32 | \"NaN\" | is \"NaN\", expected a number",
        "FP32 | \"7d\" | is \"7d\", expected a number",
        "FP32 | null | is null, expected a number",
        "FP64 | 1e300 | is 1e300, expected a finite number in the range of FP32",
        "BYTES | 1 | the datatype"
      })
  void shouldRefuseAnElementThatIsNotOfItsType(Type type, String element, String message) {
    Refusal refused = refusal(PAIRS, tensor("input", type, "[1,2,2]", "[0,0," + element + ",0]"));

    assertEquals(
        type == Type.BYTES
            ? "inputs[0].datatype: is BYTES, expected FP32 or another type of numbers"
            : "inputs[0].data[%d]: %s".formatted(type == Type.BOOL ? 0 : 2, found(type, message)),
        refused.getMessage());
  }

  private static String found(Type type, String message) {
    return type == Type.BOOL ? message.replace("is 1,", "is 0,") : message;
  }

  @ParameterizedTest
  @CsvSource({
    "FP16, 007c",
    "FP16, 007e",
    "BF16, 807f",
    "FP32, 0000c07f",
    "FP32, 000080ff",
    "FP64, 000000000000f07f",
    "FP64, 9c7500883ce4377e",
    "BOOL, 02"
  })
  void shouldRefuseBinaryElementsThatAreNotFinite(Type type, String bytes) {
    byte[] binary = new byte[4 * bytes.length() / 2];
    byte[] last = new BigInteger("1" + bytes, 16).toByteArray();
    System.arraycopy(last, 1, binary, binary.length - last.length + 1, last.length - 1);

    Refusal refused = assertThrows(Refusal.class, () -> readBinary(PAIRS, type, "[1,2,2]", binary));

    assertTrue(refused.getMessage().startsWith("inputs[0].data[3]: is "), refused::getMessage);
    assertTrue(
        refused.getMessage().contains(type == Type.BOOL ? "0 or 1" : "a finite number"),
        refused::getMessage);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"[1,2,3,4,5,6,7,8]", "[[1,2,3,4],[5,6,7,8]]", "[[[1,2],[3,4]],[[5,6],[7,8]]]"})
  void shouldReadDataFlatOrInTheArraysOfItsShape(String data) {
    assertArrayEquals(
        new float[] {1, 2, 3, 4, 5, 6, 7, 8},
        read(PAIRS, tensor("input", Type.FP32, "[2,2,2]", data)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[1,2,3] | the array has 3 elements, expected 4",
        "[1,2,3,4,5] | the array has more than 4 elements, expected 4",
        "[] | the array has 0 elements, expected 4",
        "[[1,2],[3,4]] | an array at level 2 has 2 elements, expected 4",
        "[[1,2,3,4],[5]] | the array has more than 1 elements, expected 1",
        "[[[1,2],[3]]] | an array at level 3 has 1 elements, expected 2",
        "[[[1,2,3],[4]]] | an array at level 3 has more than 2 elements, expected 2",
        "[[[1,2]]] | an array at level 2 has 1 elements, expected 2"
      })
  void shouldRefuseDataThatIsNotOfItsShape(String data, String message) {
    assertEquals(
        "inputs[0].data: " + message + ", as its shape [1, 2, 2] says",
        refusal(PAIRS, tensor("input", Type.FP32, "[1,2,2]", data)).getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[[[[1],[2]],[3,4]]] | inputs[0].data[0]: is an array, expected an element: its shape is [1, 2, 2]",
        "[1,[2,3,4]] | inputs[0].data[1]: is an array, expected an element: its shape is [1, 2, 2]",
        "[[[1,2],3]] | inputs[0].data[2]: is 3, expected an array, as before it"
      })
  void shouldRefuseDataOfDifferentDepths(String data, String message) {
    assertEquals(message, refusal(PAIRS, tensor("input", Type.FP32, "[1,2,2]", data)).getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"[1,4]", "[2,2]", "[1,2,2,1]", "[1,1,4]", "[4]", "[1,2,3]"})
  void shouldRefuseAShapeThatIsNotTheModels(String shape) {
    assertEquals(
        "inputs[0].shape: is %s, expected [-1, 2, 2], where -1 is the number of samples"
            .formatted(shape.replace(",", ", ")),
        refusal(PAIRS, tensor("input", Type.FP32, shape, "[1,2,3,4]")).getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[0,2,2] | inputs[0].shape: has 0, expected whole numbers from 1 to 2147483647",
        "[-1,2,2] | inputs[0].shape: has -1, expected whole numbers from 1 to 2147483647",
        "[1.5,2,2] | inputs[0].shape: has 1.5, expected whole numbers from 1 to 2147483647",
        "[4294967297,2,2] | inputs[0].shape: has 4294967297, expected whole numbers from 1 to 2147483647",
        "[2147483647,2,2] | inputs[0].shape: has 2147483647 samples, expected at most 699050 of 4 inputs and 3 outputs (serving.maxBytes)",
        "[1,1,1,1,1,1,1,1,1] | inputs[0].shape: has more than 8 dimensions, expected at most so many",
        "7 | inputs[0].shape: is 7, expected an array of dimensions",
        "[] | inputs[0].shape: is [], expected [-1, 2, 2], where -1 is the number of samples"
      })
  void shouldRefuseInvalidDimensions(String shape, String message) {
    assertEquals(
        message, refusal(PAIRS, tensor("input", Type.FP32, shape, "[1,2,3,4]")).getMessage());
  }

  @Test
  void shouldReadTheKeysOfATensorInAnyOrder() {
    assertArrayEquals(
        new float[] {1, 2, 3, 4},
        read(
            PAIRS,
            """
            {"x": {"y": [1]}, "inputs": [ { "data" : [1, 2,
              3, 4], "shape": [1,2,2], "z": null, "datatype": "INT8", "name": "input" } ] }
            """));
    assertArrayEquals(
        new float[] {1, 2, 3, 4},
        read(PAIRS, "\uFEFF" + tensor("input", Type.FP32, "[1,2,2]", "[1,2,3,4]")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"inputs\":[],\"inputs\":[]} | inputs: is empty",
        "{\"id\":\"a\",\"id\":\"b\"} | Duplicate field 'id'",
        "{\"inputs\":[{\"name\":\"input\",\"name\":\"input\"}]} | Duplicate field 'name'",
        "{\"x\":{\"a\":1,\"a\":2}} | Duplicate field 'a'",
        "{} | inputs: is null, expected an array of tensors",
        "{\"inputs\":null} | inputs: is null, expected an array of tensors",
        "{\"inputs\":{}} | inputs: is an object, expected an array of tensors",
        "{\"inputs\":[7]} | inputs[0]: is 7, expected an object",
        "{\"inputs\":[{}]} | inputs[0].name: is null, expected a text",
        "[1] | body: is not a JSON object: is an array",
        "{\"inputs\": | body: is not a JSON object: byte 10: Unexpected end-of-input",
        "{\"a\":NaN} | body: is not a JSON object: byte 8: Non-standard token 'NaN'",
        "{\"id\":7} | id: is 7, expected a text",
        "{\"parameters\":7} | parameters: is 7, expected an object",
        "{\"parameters\":{\"binary_data_output\":1}} | parameters.binary_data_output: is 1, expected true or false",
        "{\"parameters\":{\"a\":[1]}} | parameters: has an array for \"a\", expected a text, a number, or true or false",
        "{\"parameters\":{\"a\":null}} | parameters: has null for \"a\", expected a text, a number, or true or false",
        "{\"outputs\":{}} | outputs: is an object, expected an array of outputs",
        "{\"outputs\":[\"output\"]} | outputs[0]: is \"output\", expected an object",
        "{\"outputs\":[{}]} | outputs[0].name: is null, expected one of [output, class]",
        "{\"outputs\":[{\"name\":7}]} | outputs[0].name: is 7, expected one of [output, class]",
        "{\"outputs\":[{\"name\":\"y\"}]} | outputs[0].name: is \"y\", expected one of [output, class]",
        "{\"outputs\":[{\"name\":\"class\"},{\"name\":\"class\"}]} | outputs[1].name: is \"class\" again, expected each output once",
        "{\"outputs\":[{\"name\":\"class\",\"parameters\":{\"binary_data\":\"true\"}}]} | outputs[0].parameters.binary_data: is \"true\", expected true or false",
        "{\"outputs\":[{\"name\":\"class\",\"parameters\":{\"classification\":2}}]} | outputs[0].parameters: has classification of an extension that is not here, expected only binary_tensor_data"
      })
  void shouldReportInvalidJson(String json, String message) {
    String found = refusal(PAIRS, json).getMessage();

    assertTrue(found.contains(message), found);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"name\":\"x\" | inputs[0].name: is \"x\", expected \"input\"",
        "\"name\":7 | inputs[0].name: is 7, expected \"input\"",
        "\"name\":\"input\",\"datatype\":\"FP8\" | inputs[0].datatype: is \"FP8\", expected one of [BOOL, UINT8, UINT16, UINT32, UINT64, INT8, INT16, INT32, INT64, FP16, BF16, FP32, FP64, BYTES]",
        "\"name\":\"input\",\"datatype\":\"fp32\" | inputs[0].datatype: is \"fp32\", expected one of",
        "\"name\":\"input\",\"datatype\":\"FP32\" | inputs[0].shape: is null, expected an array of dimensions",
        "\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2] | inputs[0]: has no data, expected either data or binary_data_size in its parameters",
        "\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":7 | inputs[0].data: is 7, expected an array",
        "\"parameters\":{\"binary_data_size\":16} | inputs[0].parameters.binary_data_size: is 16, expected at most the 0 bytes that are left behind the JSON (Inference-Header-Content-Length)",
        "\"parameters\":{\"binary_data_size\":\"0\"} | inputs[0].parameters.binary_data_size: is \"0\"",
        "\"parameters\":{\"binary_data_size\":-1} | inputs[0].parameters.binary_data_size: is -1",
        "\"parameters\":{\"binary_data_size\":0.5} | inputs[0].parameters.binary_data_size: is 0.5",
        "\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":[],\"parameters\":{\"binary_data_size\":0} | inputs[0]: has both, expected either",
        "\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2],\"parameters\":{\"binary_data_size\":0} | inputs[0]: has 0 bytes of binary data, expected 16: FP32 of shape [1, 2, 2]",
        "\"parameters\":{\"shared_memory_region\":\"a\"} | inputs[0].parameters: has shared_memory_region of an extension that is not here"
      })
  void shouldReportAnInvalidTensor(String keys, String message) {
    String found = refusal(PAIRS, "{\"inputs\":[{" + keys + "}]}").getMessage();

    assertTrue(found.startsWith(message), found);
  }

  @Test
  void shouldRefuseBytesBehindTheJson() {
    String request = tensor("input", Type.FP32, "[1,2,2]", "[1,2,3,4]");

    assertEquals(
        "body: has an object behind its JSON object, expected its end",
        refusal(PAIRS, request + "{}").getMessage());
    assertTrue(refusal(PAIRS, request + "]").getMessage().startsWith("body: is not a JSON"));
    byte[] binary = Buffer.buffer(request).appendBytes(new byte[4]).getBytes();
    assertEquals(
        "body: has 4 bytes behind its tensors, expected none: does binary_data_size of an input fail?",
        assertThrows(Refusal.class, () -> read(PAIRS, binary, OptionalInt.of(request.length())))
            .getMessage());
    assertEquals(
        "Inference-Header-Content-Length: is 99, expected at most the 4 bytes of the body",
        assertThrows(Refusal.class, () -> read(PAIRS, new byte[4], OptionalInt.of(99)))
            .getMessage());
    byte[] wide = request.getBytes(StandardCharsets.UTF_16);
    assertEquals(
        "body: is UTF-16 or UTF-32, expected JSON in UTF-8",
        assertThrows(Refusal.class, () -> read(PAIRS, wide, OptionalInt.empty())).getMessage());
  }

  @Test
  void shouldRefuseCountsBeforeAnythingIsBuilt() {
    String tensor =
        "{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":[1,2,3,4]},";
    assertAtOnce(
        "inputs: has more than 1 tensors, expected one for each input of the model",
        "{\"inputs\":[" + tensor.repeat(100_000) + "0]}");
    assertAtOnce(
        "inputs[0].shape: has more than 8 dimensions, expected at most so many",
        tensor("input", Type.FP32, "[" + "1,".repeat(1_000_000) + "1]", "[1]"));
    assertAtOnce(
        "outputs: has more than 2 outputs, expected those of the model once: [output, class]",
        "{\"outputs\":["
            + "{\"name\":\"output\"},{\"name\":\"class\"},"
            + "{\"name\":\"output\"},".repeat(100_000)
            + "0]}");
    assertAtOnce(
        "body: is not a JSON object: Document nesting depth (33) exceeds the maximum allowed (32)",
        "{\"a\":" + "[".repeat(1_000_000));
    StringBuilder keys = new StringBuilder("{\"a\":{");
    for (int i = 0; i < 500_000; i++) {
      keys.append("\"k").append(i).append("\":0,");
    }
    assertAtOnce("body: has more than 100 unknown keys, expected none", keys + "\"b\":0}}");
    assertAtOnce(
        "body: an object has more than 100 keys, expected at most so many",
        "{" + keys.substring(6) + "\"b\":0}");
    assertAtOnce(
        "inputs[0].data: the array has more than 4 elements, expected 4, as its shape [1, 2, 2] says",
        tensor("input", Type.FP32, "[1,2,2]", "[" + "1,".repeat(1_000_000) + "1]"));
  }

  @Test
  @Tag("slow")
  void shouldReadALargeBodyInOnePass() {
    int samples = MOST / 784 / 2 - 1;
    String request =
        tensor("input", Type.UINT8, "[" + samples + ",1,28,28]", "[" + many("7", samples) + "]");
    List<Long> taken = new ArrayList<>();

    float[] inputs =
        assertTimeout(
            Duration.ofSeconds(10),
            () ->
                InferenceRequest.read(
                        request.getBytes(StandardCharsets.UTF_8),
                        OptionalInt.empty(),
                        GREY,
                        MOST,
                        taken::add)
                    .inputs());

    assertEquals(samples * 784, inputs.length);
    assertEquals(Normalisation.MNIST.table()[7], inputs[inputs.length - 1]);
    assertEquals(List.of(4L * inputs.length), taken);
  }

  private static String many(String element, int samples) {
    String one = (element + ",").repeat(784 * samples);
    return one.substring(0, one.length() - 1);
  }

  @Test
  void shouldReserveMemoryBeforeItIsTaken() {
    Refusal full = new Refusal(Code.OVERLOADED, "full");

    Refusal refused =
        assertThrows(
            Refusal.class,
            () ->
                InferenceRequest.read(
                    tensor("input", Type.FP32, "[100000,2,2]", "[]").getBytes(),
                    OptionalInt.empty(),
                    PAIRS,
                    MOST,
                    bytes -> {
                      throw full;
                    }));

    assertEquals(full, refused);
    List<Long> taken = new ArrayList<>();
    InferenceRequest.read(
        tensor("day", Type.BYTES, "[2]", "[\"mo\",\"tu\"]").getBytes(),
        OptionalInt.empty(),
        TABLE,
        MOST,
        taken::add);
    assertEquals(List.of(2L * (2 * 4 + 64 + 8)), taken);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"%s\":}",
        "{\"%s\":1,\"%1$s\":1}",
        "{\"inputs\":\"%s\"}",
        "{\"inputs\":[\"%s\"]}",
        "{\"inputs\":[{\"name\":\"%s\"}]}",
        "{\"inputs\":[{\"datatype\":\"%s\"}]}",
        "{\"inputs\":[{\"shape\":\"%s\"}]}",
        "{\"inputs\":[{\"shape\":[\"%s\"]}]}",
        "{\"inputs\":[{\"data\":\"%s\"}]}",
        "{\"inputs\":[{\"parameters\":\"%s\"}]}",
        "{\"inputs\":[{\"parameters\":{\"%s\":[]}}]}",
        "{\"inputs\":[{\"parameters\":{\"binary_data_size\":\"%s\"}}]}",
        "{\"inputs\":[{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,2,2],\"data\":[\"%s\"]}]}",
        "{\"outputs\":\"%s\"}",
        "{\"outputs\":[{\"name\":\"%s\"}]}",
        "{\"parameters\":{\"binary_data_output\":\"%s\"}}",
        "{\"id\":\"%s\"}",
        "{\"inputs\":%s}",
        "%s"
      })
  void shouldRepeatNoLongTextOfARequest(String request) {
    for (String text : List.of("A".repeat(900), "A".repeat(1_000_000), "7".repeat(100_000))) {
      String message = refusal(PAIRS, request.formatted(text)).getMessage();

      assertFalse(message.contains(text.substring(0, 201)), message);
      assertTrue(message.length() < 500, message);
    }
  }

  @Test
  void shouldAcceptATensorPerColumnOrOneOfRows() {
    String demand = "{\"name\":\"demand\",\"datatype\":\"FP64\",\"shape\":[2],\"data\":[0.5,6.5]}";
    String day = "{\"name\":\"day\",\"datatype\":\"%s\",\"shape\":[2],\"data\":%s}";
    float[] expected = {5, 2, 65, 3};

    assertArrayEquals(
        expected,
        read(
            TABLE,
            "{\"inputs\":[%s,%s]}".formatted(demand, day.formatted("BYTES", "[\"mo\",\"tue\"]"))));
    assertArrayEquals(
        expected,
        read(TABLE, "{\"inputs\":[%s,%s]}".formatted(day.formatted("INT16", "[10,100]"), demand)));
    assertArrayEquals(
        new float[] {30, 1, 40, 2},
        read(TABLE, tensor("input", Type.UINT8, "[2,2]", "[3,1,4,22]")));
    assertArrayEquals(
        new float[] {-1, 2, -1, 3},
        read(TABLE, "{\"inputs\":[" + day.formatted("BYTES", "[\"mo\",\"tue\"]") + "]}"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "demand FP32 [2,1] [1,2] | inputs[0].shape: is [2, 1], expected [-1], where -1 is the number of samples",
        "demnad FP32 [2] [1,2] | inputs[0].name: is \"demnad\", expected one of demand, day",
        "day FP32 [2] [1,2] | inputs[0].datatype: is FP32, expected BYTES: its values are words",
        "input FP32 [1,2] [1,2] | inputs[0].datatype: is FP32, expected BYTES: its values are words",
        "input BYTES [1,3] [\"1\"] | inputs[0].shape: is [1, 3], expected [-1, 2], where -1 is the number of samples",
        "demand FP32 [2] [1,2];demand FP32 [2] [1,2] | inputs[1].name: is \"demand\", as that of inputs[0], expected each input once",
        "demand FP32 [2] [1,2];day BYTES [1] [\"a\"] | inputs[1].shape: is [1], expected 2 samples, as inputs[0] has",
        "demand FP32 [1] [1];input BYTES [1,2] [\"a\"] | inputs[1].name: is \"input\" beside others, expected one tensor of rows or one for each of demand, day",
        "demand FP32 [1] [3.3e38] | sample 0: input 0 is Infinity when it is prepared as in training, expected a finite number: a value is too large",
        "demand BYTES [1] [\"7d\"] | sample 0: field \"demand\": is a text",
        "day BYTES [1] [1] | inputs[0].data[0]: is 1, expected a text"
      })
  void shouldReportAnInvalidColumn(String tensors, String message) {
    List<String> inputs = new ArrayList<>();
    for (String each : tensors.split(";")) {
      String[] parts = each.split(" ");
      inputs.add(
          "{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,\"data\":%s}"
              .formatted((Object[]) parts));
    }

    assertEquals(
        message, refusal(TABLE, "{\"inputs\":[" + String.join(",", inputs) + "]}").getMessage());
  }

  @Test
  void shouldReadTextsInBinaryForm() {
    Buffer texts = Buffer.buffer();
    for (String text : List.of("mo", "tüe")) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      texts.appendIntLE(bytes.length).appendBytes(bytes);
    }
    String head =
        "{\"inputs\":[{\"name\":\"day\",\"datatype\":\"BYTES\",\"shape\":[%d],\"parameters\":{\"binary_data_size\":%d}}]}";

    assertArrayEquals(
        new float[] {-1, 2, -1, 3}, readBehind(head.formatted(2, texts.length()), texts));
    assertEquals(
        "inputs[0]: its binary data end within text 2, expected 3 texts, as its shape [3] says",
        assertThrows(Refusal.class, () -> readBehind(head.formatted(3, texts.length()), texts))
            .getMessage());
    assertEquals(
        "inputs[0]: has 8 bytes of binary data behind its texts, expected 1 texts, as its shape [1] says",
        assertThrows(Refusal.class, () -> readBehind(head.formatted(1, texts.length()), texts))
            .getMessage());
    assertEquals(
        "inputs[0]: its binary data end within text 0, expected 1 texts, as its shape [1] says",
        assertThrows(
                Refusal.class,
                () -> readBehind(head.formatted(1, 4), Buffer.buffer().appendIntLE(-1)))
            .getMessage());
    assertEquals(
        "inputs[0].data[0]: is not UTF-8, expected a text",
        assertThrows(
                Refusal.class,
                () ->
                    readBehind(
                        head.formatted(1, 5),
                        Buffer.buffer().appendIntLE(1).appendByte((byte) 0xFF)))
            .getMessage());
  }

  @Test
  void shouldTakeRawDataOfAModelWithOneInput() {
    Buffer raw = Buffer.buffer();
    for (int i = 0; i < 8; i++) {
      raw.appendFloatLE(i);
    }
    assertArrayEquals(
        new float[] {0, 1, 2, 3, 4, 5, 6, 7}, read(PAIRS, raw.getBytes(), OptionalInt.of(0)));
    assertEquals(
        "body: has 12 bytes, expected a multiple of 16, one sample in FP32",
        assertThrows(Refusal.class, () -> read(PAIRS, new byte[12], OptionalInt.of(0)))
            .getMessage());
    assertEquals(
        "body: is raw data, expected JSON: this model has 2 inputs",
        assertThrows(Refusal.class, () -> read(TABLE, new byte[8], OptionalInt.of(0)))
            .getMessage());
    assertEquals(
        "body.data[7]: is NaN, expected a finite number",
        assertThrows(
                Refusal.class,
                () -> read(PAIRS, raw.setFloatLE(28, Float.NaN).getBytes(), OptionalInt.of(0)))
            .getMessage());
  }

  @ParameterizedTest
  @CsvSource({"10", "-1", "0.5"})
  void shouldRefuseInvalidTokens(String token) {
    assertTrue(
        refusal(TOKENS, tensor("input", Type.FP32, "[2,2]", "[1,2,3," + token + "]"))
            .getMessage()
            .startsWith("inputs[0], sample 1[1]: is "));
  }

  @Test
  void shouldReadHeadersBeforeTheBody() {
    assertEquals(new Form("", OptionalInt.empty(), false), form());
    assertEquals(
        new Form("application/json", OptionalInt.of(7), true),
        form(
            "content-type",
            "Application/JSON; charset=UTF-8",
            "Content-Encoding",
            "GZIP",
            "inference-header-content-length",
            "7"));
    assertTrue(form("Content-Type", "image/png").isPicture());
    assertFalse(form("Content-Encoding", "identity").gzip());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Content-Type | text/plain | UNSUPPORTED | Content-Type: is \"text/plain\", expected application/json, application/octet-stream or a picture: image/png, image/jpeg, image/gif, image/bmp",
        "Content-Type | application/x-www-form-urlencoded | UNSUPPORTED | Content-Type: is \"application/x-www-form-urlencoded\", expected application/json",
        "Content-Type | application/json; charset=latin1 | UNSUPPORTED | Content-Type: is \"charset=latin1\", expected charset=utf-8",
        "Content-Encoding | br | UNSUPPORTED | Content-Encoding: is \"br\", expected gzip, or none",
        "Content-Encoding | gzip, gzip | UNSUPPORTED | Content-Encoding: is \"gzip, gzip\", expected gzip, or none",
        "Inference-Header-Content-Length | -1 | INVALID | Inference-Header-Content-Length: is \"-1\", expected a number of bytes",
        "Inference-Header-Content-Length | 9999999999 | INVALID | Inference-Header-Content-Length: is \"9999999999\", expected a number of bytes"
      })
  void shouldRefuseHeadersBeforeTheBody(String header, String value, Code code, String message) {
    Refusal refused = assertThrows(Refusal.class, () -> form(header, value));

    assertEquals(code, refused.code());
    assertTrue(refused.getMessage().startsWith(message), refused::getMessage);
  }

  @Test
  void shouldReadCompressedBodiesOfLimitedSize() {
    Form gzip = form("Content-Encoding", "gzip");
    byte[] body = "0123456789".repeat(100).getBytes(StandardCharsets.UTF_8);
    Buffer compressed = compressed(body);
    List<Long> taken = new ArrayList<>();

    assertArrayEquals(body, gzip.content(compressed, 1_000, taken::add));
    assertEquals(List.of(1_000L + compressed.length()), taken);

    Refusal large = assertThrows(Refusal.class, () -> gzip.content(compressed, 999, ANY));
    assertEquals(Code.TOO_LARGE, large.code());
    assertEquals(
        "body: has 1000 bytes without gzip, expected at most 999 (serving.maxBytes)",
        large.getMessage());
    int end = compressed.length();
    for (Buffer broken :
        List.of(
            Buffer.buffer(body),
            Buffer.buffer(),
            Buffer.buffer(compressed.getBytes(0, end - 8)).appendIntLE(0).appendIntLE(1_000),
            compressed.copy().appendIntLE(1_000),
            compressed.copy().setIntLE(end - 4, 10),
            compressed.copy().setIntLE(end - 4, 2_000),
            compressed.copy().setIntLE(end - 8, 10))) {
      assertEquals(
          "body: is not one whole gzip file, which Content-Encoding says it is",
          assertThrows(Refusal.class, () -> gzip.content(broken, MOST, ANY)).getMessage());
    }
  }

  @Test
  void shouldWriteTheRequestedOutputsInTheRequestedForm() {
    String request =
        """
        {"id": "a\\"b", "outputs": [{"name": "class"},
          {"name": "output", "parameters": {"binary_data": true}}],
         "inputs": [{"name": "input", "shape": [1, 2, 2], "datatype": "FP32", "data": [0,0,0,0]}]}
        """;
    float[] outputs = {0.25f, 0.5f, 1e-7f};

    Buffer body =
        InferenceRequest.read(
                request.getBytes(StandardCharsets.UTF_8), OptionalInt.empty(), PAIRS, MOST, ANY)
            .response("m", new PredictionAnswer(outputs, 7, 7, 12), PAIRS)
            .body();

    int header = body.length() - 12;
    assertEquals(
        new JsonObject(
            """
            {"model_name": "m", "model_version": "7", "id": "a\\"b", "parameters": {"age_millis": 12},
             "outputs": [{"name": "class", "datatype": "BYTES", "shape": [1], "data": ["1"]},
               {"name": "output", "datatype": "FP32", "shape": [1, 3],
                "parameters": {"binary_data_size": 12}}]}
            """),
        new JsonObject(body.getString(0, header)));
    assertEquals(1e-7f, body.getFloatLE(header + 8));
  }

  @Test
  void shouldAnswerValuesByTheNamesOfTheirColumns() {
    SampleFormat prices = values(List.of("price", "area"));
    InferenceRequest all = InferenceRequest.of(new float[4], prices);
    PredictionAnswer answer =
        new PredictionAnswer(new float[] {430_000, 80, 250_000, 45}, 7, 7, 12);

    JsonArray outputs =
        new JsonObject(all.response("m", answer, prices).body()).getJsonArray("outputs");

    assertEquals(
        new JsonArray(
            """
            [{"name": "output", "datatype": "FP32", "shape": [2, 2],
              "data": [430000.0, 80.0, 250000.0, 45.0]},
             {"name": "price", "datatype": "FP32", "shape": [2], "data": [430000.0, 250000.0]},
             {"name": "area", "datatype": "FP32", "shape": [2], "data": [80.0, 45.0]}]
            """),
        outputs);
    assertEquals(
        new JsonArray(
            """
            [{"name": "output", "datatype": "FP32", "shape": [-1, 2],
              "parameters": {"names": ["price", "area"]}},
             {"name": "price", "datatype": "FP32", "shape": [-1]},
             {"name": "area", "datatype": "FP32", "shape": [-1]}]
            """),
        InferenceRequest.metadata("m", List.of(7L), prices).getJsonArray("outputs"));
    String request =
        """
        {"outputs": [{"name": "area", "parameters": {"binary_data": true}}],
         "inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP32", "data": [0,0]}]}
        """;
    Buffer body =
        InferenceRequest.read(
                request.getBytes(StandardCharsets.UTF_8), OptionalInt.empty(), prices, MOST, ANY)
            .response("m", answer, prices)
            .body();
    assertEquals(45, body.getFloatLE(body.length() - 4));
    assertEquals(80, body.getFloatLE(body.length() - 8));
  }

  @Test
  void shouldAnswerInOneTensorWhereNamesAreNotDistinct() {
    for (List<String> names : List.of(List.of("a", "a"), List.of("output", "a"))) {
      assertEquals(
          1,
          InferenceRequest.metadata("m", List.of(7L), values(names))
              .getJsonArray("outputs")
              .size());
    }
  }

  @Test
  void shouldNameTheClassesInTheMetadata() {
    SampleFormat flowers =
        new SampleFormat(
            "csv",
            List.of(2),
            Targets.classes(2),
            0,
            List.of("setosa", "virginica"),
            Optional.empty(),
            Optional.empty(),
            List.of(),
            Treatment.ON_BLACK);

    JsonArray outputs =
        InferenceRequest.metadata("m", List.of(7L), flowers).getJsonArray("outputs");

    assertEquals(
        JsonObject.of("names", JsonArray.of("setosa", "virginica")),
        outputs.getJsonObject(0).getJsonObject("parameters"));
    assertEquals("class", outputs.getJsonObject(1).getString("name"));
  }

  private static SampleFormat values(List<String> names) {
    return new SampleFormat(
        "csv",
        List.of(2),
        Targets.values(2),
        0,
        names,
        Optional.empty(),
        Optional.empty(),
        List.of(),
        Treatment.ON_BLACK);
  }

  private static Form form(String... headers) {
    MultiMap map = MultiMap.caseInsensitiveMultiMap();
    for (int i = 0; i < headers.length; i += 2) {
      map.add(headers[i], headers[i + 1]);
    }
    return Form.of(map);
  }

  private static Buffer compressed(byte[] body) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(bytes)) {
      out.write(body);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Buffer.buffer(bytes.toByteArray());
  }

  private static String tensor(String name, Type type, String shape, String data) {
    return "{\"inputs\":[{\"name\":\"%s\",\"datatype\":\"%s\",\"shape\":%s,\"data\":%s}]}"
        .formatted(name, type, shape, data);
  }

  private static float[] read(SampleFormat format, String json) {
    return read(format, json.getBytes(StandardCharsets.UTF_8), OptionalInt.empty());
  }

  private static float[] read(SampleFormat format, byte[] body, OptionalInt header) {
    return InferenceRequest.read(body, header, format, MOST, ANY).inputs();
  }

  private static float[] readBinary(SampleFormat format, Type type, String shape, byte[] binary) {
    String head =
        "{\"inputs\":[{\"name\":\"input\",\"datatype\":\"%s\",\"shape\":%s,\"parameters\":{\"binary_data_size\":%d}}]}"
            .formatted(type, shape, binary.length);
    byte[] body = Buffer.buffer(head).appendBytes(binary).getBytes();
    return read(format, body, OptionalInt.of(head.length()));
  }

  private static float[] readBehind(String head, Buffer binary) {
    byte[] body = Buffer.buffer(head).appendBuffer(binary).getBytes();
    return read(TABLE, body, OptionalInt.of(head.length()));
  }

  private static Refusal refusal(SampleFormat format, String json) {
    return assertThrows(Refusal.class, () -> read(format, json));
  }

  private static void assertAtOnce(String message, String json) {
    byte[] body = json.getBytes(StandardCharsets.UTF_8);
    Refusal refused =
        assertTimeout(
            Duration.ofSeconds(1),
            () -> assertThrows(Refusal.class, () -> read(PAIRS, body, OptionalInt.empty())));
    assertEquals(message, refused.getMessage());
  }
}
