package io.vertigrad.compute.formats;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Block.Kind;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsFileTest {

  private static final ParameterLayout LAYOUT =
      new ParameterLayout(
          List.of(
              new Block("fc.W", List.of(2, 3), Kind.TRAINABLE),
              new Block("fc.b", List.of(2), Kind.TRAINABLE),
              new Block("bn.mean", List.of(1), Kind.STATISTIC)));

  private static final float[] VALUES = {1, -2, 3.5f, 0, Float.MIN_VALUE, 6, 7, 8, -0.0f};

  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void name() {
    file = folder.resolve("model.safetensors");
  }

  @Test
  void shouldReadTheSameBitsThatWereWritten() throws IOException {
    write(Map.of("job", "digits"), LAYOUT, VALUES);

    assertArrayEquals(VALUES, read(LAYOUT));
    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertEquals(Map.of("job", "digits"), opened.metadata());
      assertEquals(List.of("fc.W", "fc.b", "bn.mean"), List.copyOf(opened.names()));
    }
    assertFalse(Files.exists(folder.resolve("model.safetensors.part")));
  }

  @Test
  void shouldWriteTheBytesOfTheFormatWhenItIsCompared() throws IOException {
    ParameterLayout one =
        new ParameterLayout(List.of(new Block("w", List.of(1, 2), Kind.TRAINABLE)));

    write(Map.of(), one, new float[] {1, -2});

    String header = "{\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
    int padded = (header.length() + 7) / 8 * 8;
    ByteBuffer expected =
        ByteBuffer.allocate(8 + padded + 8)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(padded)
            .put(header.getBytes(StandardCharsets.UTF_8))
            .put(" ".repeat(padded - header.length()).getBytes(StandardCharsets.UTF_8))
            .put(HexFormat.of().parseHex("0000803f000000c0"));
    assertArrayEquals(expected.array(), Files.readAllBytes(file));
  }

  @Test
  void shouldReadInRunsWhenAnArrayIsLong() throws IOException {
    int length = (1 << 16) * 2 + 17;
    ParameterLayout wide =
        new ParameterLayout(List.of(new Block("w", List.of(length), Kind.TRAINABLE)));
    SplittableRandom random = new SplittableRandom(5);
    float[] values = new float[length];
    for (int i = 0; i < length; i++) {
      values[i] = (float) random.nextDouble(-1, 1);
    }

    write(Map.of(), wide, values);

    assertArrayEquals(values, read(wide));
  }

  @ParameterizedTest
  @CsvSource({
    "F16, 003c00c000fc, 1;-2;-Infinity",
    "F16, 0100ff7b0080, 5.9604645e-8;65504;-0",
    "BF16, 803f00c0c07f, 1;-2;NaN",
    "F64, 000000000000f03f9a9999999999b93f00000000000000c0, 1;0.1;-2",
    "I64, 0100000000000000ffffffffffffffff0000000001000000, 1;-1;4294967296",
    "F32, 0000803f000000c00000c07f, 1;-2;NaN"
  })
  void shouldConvertOtherTypesToFloat32(String type, String bytes, String values)
      throws IOException {
    byte[] data = HexFormat.of().parseHex(bytes);
    raw("{\"w\":%s}".formatted(tensor(type, "[3]", 0, data.length)), data);

    float[] found = read(new ParameterLayout(List.of(new Block("w", List.of(3), Kind.TRAINABLE))));

    String[] expected = values.split(";");
    for (int i = 0; i < 3; i++) {
      assertEquals(Float.parseFloat(expected[i]), found[i], type + " " + i);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "I64, ffffffffffffffff0100000000002000, -1;9007199254740993",
    "I32, ffffffff00000080, -1;-2147483648",
    "U32, ffffffff00000080, 4294967295;2147483648",
    "I16, ffff0080, -1;-32768",
    "U16, ffff0080, 65535;32768",
    "I8, ff80, -1;-128",
    "U8, ff80, 255;128",
    "BOOL, 0001, 0;1"
  })
  void shouldReadWholeNumbersWithoutRoundingWhenTheyAreAskedForByName(
      String type, String bytes, String values) throws IOException {
    byte[] data = HexFormat.of().parseHex(bytes);
    raw("{\"w\":%s}".formatted(tensor(type, "[2,1]", 0, data.length)), data);

    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertTrue(opened.isWhole("w"));
      assertEquals(List.of(2, 1), opened.shape("w"));
      long[] found = opened.wholes("w");
      assertEquals(values, found[0] + ";" + found[1]);
    }
  }

  @Test
  void shouldReadOneArrayWhenItIsAskedForByName() throws IOException {
    write(Map.of(), LAYOUT, VALUES);

    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertFalse(opened.isWhole("fc.b"));
      assertEquals(List.of(2), opened.shape("fc.b"));
      assertArrayEquals(new float[] {7, 8}, opened.floats("fc.b"));
      assertRefused(
          "tensor fc.b is of type F32, expected whole numbers", () -> opened.wholes("fc.b"));
      assertRefused("holds no tensor fc; it holds fc.W, fc.b, bn.mean", () -> opened.shape("fc"));
    }
  }

  @Test
  void shouldReadNoValuesWhenOneDimensionIsNoneAndOthersAreLarge() throws IOException {
    raw("{\"w\":%s}".formatted(tensor("F32", "[65536,65536,0]", 0, 0)), new byte[0]);

    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertEquals(0, opened.floats("w").length);
    }
  }

  @Test
  void shouldReadAllWholeNumbersWhenThereAreManyOfThem() throws IOException {
    byte[] data = new byte[(1 << 16) + 3];
    data[1 << 16] = 5;
    raw("{\"w\":%s}".formatted(tensor("U8", "[%s]".formatted(data.length), 0, data.length)), data);

    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      long[] found = opened.wholes("w");
      assertEquals(data.length, found.length);
      assertEquals(5, found[1 << 16]);
      assertRefused("tensor w is of type U8, expected one of F32, F16,", () -> opened.floats("w"));
    }
  }

  @Test
  void shouldAcceptScalarsAndEmptyArraysInAnyOrderWhenTheyCoverTheData() throws IOException {
    raw(
        "{\"b\":%s,\"none\":%s,\"a\":%s}   "
            .formatted(
                tensor("F32", "[]", 4, 8), tensor("F32", "[3,0]", 4, 4), tensor("U8", "[4]", 0, 4)),
        new byte[8]);

    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertEquals(List.of("b", "none", "a"), List.copyOf(opened.names()));
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"w\":T[2]0,8T,\"v\":T[2]4,12T} | tensor v begins at byte 4 of the data, expected 8",
        "{\"w\":T[2]0,8T,\"v\":T[1]12,16T} | there is a gap between them",
        "{\"w\":T[2]4,12T} | tensor w begins at byte 4 of the data, expected 0, where the header",
        "{\"w\":T[2]0,8T} | has 16 bytes of data, expected 8, where w ends",
        "{\"w\":T[4]0,20T} | data_offsets holds 20, expected whole numbers from 0 to 16",
        "{\"w\":T[4]8,4T} | data_offsets [8, 4] has -4 bytes, expected 16",
        "{\"w\":T[3]0,16T} | has 16 bytes, expected 12 for [3] of type F32",
        "{\"w\":T[-4]0,16T} | shape holds -4, expected whole numbers",
        "{\"w\":T[4.0]0,16T} | shape holds 4.0, expected whole numbers",
        "{\"w\":T[2147483648]0,16T} | shape holds 2147483648",
        "{\"w\":T[2147483647,2147483647,2147483647]0,16T} | needs more than 2^63 bytes",
        "{\"w\":T[4]0,99999999999999999999T} | data_offsets holds 99999999999999999999",
        "{\"w\":T[4]0T} | data_offsets has 1 numbers, expected 2",
        "{\"w\":T[4]0,16T,\"w\":T[4]0,16T} | w is given twice",
        "{\"w\":{\"dtype\":\"F32\",\"shape\":[4]}} | found dtype, shape, expected an object of",
        "{\"w\":[4]} | tensor w: found no object",
        "{\"w\":{\"dtype\":\"F7\",\"shape\":[4],\"data_offsets\":[0,16]}} | dtype is F7, expected",
        "{\"w\":{\"dtype\":\"F32\",\"shape\":4,\"data_offsets\":[0,16]}} | shape is no list",
        "{\"__metadata__\":{\"a\":1}} | __metadata__.a is no text",
        "{\"__metadata__\":[]} | __metadata__ is no object",
        "{\"w\":T[4]0,16T | not valid JSON",
        "[] | the header begins with 0x5b, expected an object",
        "{} | has 16 bytes of data, expected 0, where the header ends"
      })
  void shouldReportAWrongHeader(String header, String message) throws IOException {
    raw(
        header.replaceAll(
            "T(\\[[^]]*])([0-9,]+)T", "{\"dtype\":\"F32\",\"shape\":$1,\"data_offsets\":[$2]}"),
        new byte[16]);

    assertRefused(message);
  }

  @Test
  void shouldReportAWrongLengthOfTheHeader() throws IOException {
    for (long length : new long[] {0, 1, 1_000, Long.MAX_VALUE, -1, Long.MIN_VALUE}) {
      Files.write(
          file, ByteBuffer.allocate(64).order(ByteOrder.LITTLE_ENDIAN).putLong(length).array());

      assertRefused(
          "byte 0: the header has %s bytes, expected 2 to 56"
              .formatted(Long.toUnsignedString(length)));
    }
    Files.write(file, new byte[9]);
    assertRefused("has 9 bytes, expected at least 10");
    Files.delete(file);
    assertRefused("cannot be read: java.nio.file.NoSuchFileException");
    Files.createDirectory(file);
    assertRefused("cannot be read");
  }

  @Test
  void shouldKeepFurtherStateAndIgnoreItWhenTheModelReads() throws IOException {
    float[] values = {1, 2, 3};
    ParameterLayout layout =
        new ParameterLayout(List.of(new Block("w", List.of(3), Block.Kind.TRAINABLE)));
    ByteBuffer count = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, 7);
    ByteBuffer again = ByteBuffer.allocate(12);
    SafetensorsFile.write(
        file,
        Map.of(),
        layout,
        (first, destination) -> destination.put(values, first, destination.remaining()),
        List.of(
            new Model.State("steps", "I64", List.of(), count),
            new Model.State("tied", "F32", List.of(3), again)));

    assertArrayEquals(values, read(layout));
    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      assertEquals(Set.of("w", "steps", "tied"), opened.names());
    }
  }

  @Test
  void shouldNameTheArrayWhenTheModelIsAnother() throws IOException {
    write(Map.of(), LAYOUT, VALUES);

    assertUnfit(
        "tensor fc.W has the shape [2, 3], expected [3, 2]: it is of another model",
        new Block("fc.W", List.of(3, 2), Kind.TRAINABLE));
    assertUnfit(
        "holds no tensor conv.W, expected one of shape [1]; it holds fc.W, fc.b, bn.mean",
        new Block("conv.W", List.of(1), Kind.TRAINABLE));
    assertUnfit(
        "holds 3 tensors, expected 1: the model has no fc.b",
        new Block("fc.W", List.of(2, 3), Kind.TRAINABLE));
  }

  @Test
  void shouldNameTheTypeWhenItCannotBeRead() throws IOException {
    raw("{\"w\":%s}".formatted(tensor("I8", "[4]", 0, 4)), new byte[4]);

    assertUnfit(
        "tensor w is of type I8, expected one of F32, F16, BF16, F64, I64",
        new Block("w", List.of(4), Kind.TRAINABLE));
  }

  /** Cuts, overwrites and changes a file: it is read as a model, or refused by name. */
  @Test
  @Tag("slow")
  void shouldReadOrRefuseWhenFilesAreDamaged() throws IOException {
    write(Map.of("vertigrad.model", "{\"name\":\"mlp\"}"), LAYOUT, VALUES);
    byte[] whole = Files.readAllBytes(file);
    SplittableRandom random = new SplittableRandom(20_261_123);
    int refused = 0;
    for (int i = 0; i < 4_000; i++) {
      Files.write(file, mutant(whole, random));
      try (SafetensorsFile opened = SafetensorsFile.open(file)) {
        opened.require(LAYOUT);
        opened.read(LAYOUT, (first, source) -> source.position(source.limit()));
      } catch (DataException e) {
        refused++;
        assertTrue(e.getMessage().startsWith(file + ": "), e.getMessage());
      }
    }
    assertTrue(refused > 2_000, refused + " of 4,000 were refused");
  }

  private static byte[] mutant(byte[] whole, SplittableRandom random) {
    byte[] bytes = whole.clone();
    switch (random.nextInt(4)) {
      case 0 -> {
        byte[] cut = new byte[random.nextInt(whole.length)];
        System.arraycopy(whole, 0, cut, 0, cut.length);
        return cut;
      }
      case 1 -> {
        for (int n = 1 + random.nextInt(4); n > 0; n--) {
          bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
      }
      case 2 -> {
        byte[] alphabet = "0123456789,:[]{}\"-eE.".getBytes(StandardCharsets.UTF_8);
        for (int n = 1 + random.nextInt(6); n > 0; n--) {
          bytes[8 + random.nextInt(bytes.length - 8)] = alphabet[random.nextInt(alphabet.length)];
        }
      }
      default ->
          ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).putLong(0, random.nextLong());
    }
    return bytes;
  }

  private void write(Map<String, String> metadata, ParameterLayout layout, float[] values)
      throws IOException {
    SafetensorsFile.write(
        file,
        metadata,
        layout,
        (first, destination) -> destination.put(values, first, destination.remaining()),
        List.of());
  }

  private float[] read(ParameterLayout layout) {
    float[] values = new float[layout.length()];
    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      opened.require(layout);
      opened.read(layout, (first, source) -> FloatBuffer.wrap(values).position(first).put(source));
    }
    return values;
  }

  private static String tensor(String type, String shape, int begin, int end) {
    return "{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[%d,%d]}"
        .formatted(type, shape, begin, end);
  }

  private void raw(String header, byte[] data) throws IOException {
    byte[] text = header.getBytes(StandardCharsets.UTF_8);
    Files.write(
        file,
        ByteBuffer.allocate(8 + text.length + data.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putLong(text.length)
            .put(text)
            .put(data)
            .array());
  }

  private void assertRefused(String message) {
    assertRefused(message, () -> SafetensorsFile.open(file).close());
  }

  private void assertRefused(String message, Executable reading) {
    DataException error = assertThrows(DataException.class, reading);
    assertTrue(error.getMessage().startsWith(file + ": "), error.getMessage());
    assertTrue(error.getMessage().contains(message), error.getMessage());
  }

  private void assertUnfit(String message, Block block) {
    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      ParameterLayout other = new ParameterLayout(List.of(block));
      DataException error = assertThrows(DataException.class, () -> opened.require(other));
      assertEquals(file + ": " + message, error.getMessage());
    }
  }
}
