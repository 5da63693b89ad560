package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests CIFAR-10's Python version; {@code make.py} beside the resources wrote the batches. */
class CifarBatchTest {

  private static final String ADVICE =
      "; use the files of cifar-10-python.tar.gz, or of the binary version";
  private static final String PUBLISHED = "python2-protocol2";

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(
      strings = {
        PUBLISHED,
        "python3-protocol2",
        "python3-protocol3",
        "python3-protocol4",
        "python3-bytes-keys"
      })
  void shouldReadImagesAndLabelsOfEveryPickleProtocol(String name) {
    Path file = write(folder.resolve("data_batch_1"), resource(name));

    CifarBatch batch = CifarBatch.pickled(file);
    byte[] pixels = new byte[3 * CifarBatch.IMAGE_BYTES];
    byte[] labels = new byte[3];
    batch.copyTo(pixels, labels, 0);

    assertArrayEquals(new byte[] {3, 8, 0}, labels);
    int[][] planes = {{0, 128, 255}, {10, 138, 254}, {20, 148, 253}};
    for (int i = 0; i < pixels.length; i++) {
      assertEquals(planes[i / 3072][i / 1024 % 3], pixels[i] & 0xFF);
    }
  }

  @Test
  void shouldOpenThePythonVersionWhenItLiesInItsOwnFolder() {
    Path python = folder.resolve("cifar-10-batches-py");
    write(python.resolve("data_batch_1"), resource(PUBLISHED));
    write(python.resolve("data_batch_2.gz"), gzip(resource("python3-protocol3")));
    write(python.resolve("test_batch"), resource(PUBLISHED));

    assertEquals(6, open(folder, Split.TRAIN).size());
    assertEquals(5, open(folder, Split.TRAIN, Map.of("train", 5)).size());
    Dataset test = open(python, Split.TEST);
    float[] last = new float[CifarBatch.IMAGE_BYTES];
    test.read(2, last, 0);

    assertEquals(3, test.size());
    assertEquals(8, test.label(1));
    assertEquals((20 / 255f - 0.4914f) / 0.2023f, last[0]);
    assertEquals((253 / 255f - 0.4465f) / 0.2010f, last[3071]);
  }

  @Test
  void shouldTakeTheBinaryVersionWhenBothAreThere() {
    write(folder.resolve("test_batch"), resource(PUBLISHED));
    write(folder.resolve("test_batch.bin"), new byte[3073]);

    assertEquals(1, open(folder, Split.TEST).size());
  }

  @Test
  void shouldReportTheEndOfATruncatedFile() {
    byte[] whole = resource(PUBLISHED);
    Path file = folder.resolve("test_batch");

    for (int length = 0; length < whole.length; length += length < 150 ? 1 : 97) {
      String message = refusal(file, Arrays.copyOf(whole, length));

      assertTrue(message.startsWith(file + ": truncated or damaged: "), message);
    }
    assertEquals(
        file + ": truncated or damaged: 0 bytes behind offset 9504, expected 1" + ADVICE,
        refusal(file, Arrays.copyOf(whole, 9504)));
    assertEquals(
        file + ": truncated or damaged: 5 bytes behind offset 152, expected 9216" + ADVICE,
        refusal(file, Arrays.copyOf(whole, 157)));
  }

  @Test
  void shouldRunNothingWhenAPickleNamesAProgram() {
    Path file = folder.resolve("test_batch");
    Path touched = folder.resolve("touched");
    String command = "touch " + touched;
    String call = "\u0080\u0002cos\nsystem\nU" + (char) command.length() + command + "\u0085R.";

    assertEquals(
        file
            + ": offset 2: found the name os.system, which is not called, "
            + "expected numpy's ndarray, dtype and _reconstruct, or _codecs.encode"
            + ADVICE,
        refusal(file, latin1(call)));
    assertTrue(
        refusal(file, latin1("\u0080\u0004\u008c\u0005posix\u008c\u0006system\u0093."))
            .contains("offset 17: found the name posix.system, which is not called"));
    assertTrue(Files.notExists(touched));
  }

  @ParameterizedTest
  @ValueSource(strings = {"i", "o", "\u0081", "\u0082", "P", "Q", "0", "I", "S", "\u0097"})
  void shouldRefuseEveryInstructionThatABatchDoesNotNeed(String instruction) {
    Path file = folder.resolve("test_batch");

    assertEquals(
        file
            + ": offset 3: found instruction 0x%02x, expected one that a dict of texts, "
                .formatted((int) instruction.charAt(0))
            + "numbers and bytes needs"
            + ADVICE,
        refusal(file, latin1("\u0080\u0002}" + instruction + ".")));
  }

  @Test
  void shouldNameOffsetAndFindingWhenThePickleIsInconsistent() {
    assertFound("byte 0x28", "(dp0\n.");
    assertFound("pickle protocol 5", "\u0080\u0005.");
    assertFound("memo 3", "\u0080\u0002h\u0003.");
    assertFound("0 values", "\u0080\u0002\u0085.");
    assertFound("0 values", "\u0080\u0002K\u0001(a.");
    assertFound("no mark", "\u0080\u0002e.");
    assertFound("a text", "\u0080\u0002U\u0001xK\u0001a.");
    assertFound("a key without a value", "\u0080\u0002}(U\u0001xu.");
    assertFound("1, expected a text", "\u0080\u0002}K\u0001K\u0001s.");
    assertFound("the end with 2 values and 0 bytes", "\u0080\u0002NN.");
    assertFound("the end with 1 values and 1 bytes", "\u0080\u0002N..");
    assertFound("a call of NDARRAY", "\u0080\u0002cnumpy\nndarray\n)R.");
    assertFound("an array of i4", "\u0080\u0002cnumpy\ndtype\nU\u0002i4\u0085R.");
    assertFound("bytes in encoding utf8", "\u0080\u0002" + encoded("a", "utf8") + ".");
    assertFound("more encoded bytes than", "\u0080\u0002" + encodedOften() + ".");
    assertFound("a name of more than 100", "\u0080\u0002c" + "x".repeat(200) + "\n.");
    assertTrue(
        refusal(folder.resolve("f"), latin1("\u0080\u0004\u0095\u0009\0\0\0\0\0\0\0N."))
            .contains("truncated or damaged: 2 bytes behind offset 11, expected 9"));
  }

  @Test
  @Tag("slow")
  void shouldRefuseAFileThatAsksForMoreValuesThanABatchHas() {
    byte[] content = new byte[2_100_002];
    Arrays.fill(content, (byte) 'N');
    content[0] = (byte) 0x80;
    content[1] = 2;

    assertTrue(
        refusal(folder.resolve("f"), content)
            .contains("offset 2000002: found more than 2,000,000"));
  }

  @Test
  void shouldReportTheMissingKeyWhenThePickleIsNoBatch() {
    Path file = folder.resolve("test_batch");

    assertEquals(
        file
            + ": holds a dict of [data, fine_labels], expected a dict with an array \"data\" and a "
            + "list \"labels\": is it CIFAR-10?",
        refusal(file, resource("cifar100")));
    assertTrue(refusal(file, latin1("\u0080\u0002].")).contains(": holds a list, expected a dict"));
    byte[] label = resource(PUBLISHED);
    label[9387] = 10;
    assertEquals(file + ": label of record 1 is 10, expected 0 to 9", refusal(file, label));
    byte[] whole = resource(PUBLISHED);
    byte[] fewer = Arrays.copyOf(whole, whole.length - 2);
    System.arraycopy(whole, 9390, fewer, 9388, whole.length - 9390);
    assertEquals(file + ": holds 3 images and 2 labels, expected as many", refusal(file, fewer));
    byte[] shape = resource(PUBLISHED);
    shape[85] = 4;
    assertTrue(refusal(file, shape).contains("found 9216 bytes of an array [4, 3072], expected"));
    byte[] columns = resource(PUBLISHED);
    columns[146] = (byte) 0x88;
    assertTrue(refusal(file, columns).contains("found an array column after column, expected"));
  }

  private void assertFound(String found, String pickle) {
    String message = refusal(folder.resolve("f"), latin1(pickle));

    assertTrue(message.contains(": found " + found), message);
    assertTrue(message.matches("(?s).*: offset \\d+: .*, expected .*"), message);
  }

  private static String encoded(String text, String encoding) {
    return "c_codecs\nencode\nX%s\0\0\0%sX%s\0\0\0%s\u0086R"
        .formatted((char) text.length(), text, (char) encoding.length(), encoding);
  }

  /**
   * Returns a pickle that stores one text of 100 characters and converts it to bytes many times.
   */
  private static String encodedOften() {
    String again = "h\u0001h\u0002h\u0003\u0086R";
    return "c_codecs\nencode\nq\u0001Xd\0\0\0%sq\u0002X\u0006\0\0\0latin1q\u0003"
            .formatted("x".repeat(100))
        + again.repeat(50);
  }

  private String refusal(Path file, byte[] content) {
    write(file, content);
    return assertThrows(DataException.class, () -> CifarBatch.pickled(file)).getMessage();
  }

  private static Dataset open(Path from, Split split) {
    return open(from, split, Map.of());
  }

  private static Dataset open(Path from, Split split, Map<String, Object> options) {
    return new Cifar10Provider().open(SampleFiles.in("cifar10", from, options), split);
  }

  private static byte[] latin1(String text) {
    return text.getBytes(StandardCharsets.ISO_8859_1);
  }

  private static byte[] resource(String name) {
    try (InputStream in = CifarBatchTest.class.getResourceAsStream("cifar/" + name + ".gz");
        GZIPInputStream unpacked = new GZIPInputStream(in)) {
      return unpacked.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
