package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.images;
import static io.vertigrad.compute.data.files.SampleFiles.in;
import static io.vertigrad.compute.data.files.SampleFiles.labels;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertx.core.json.JsonObject;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that the same data have one fingerprint, and that other data are named. */
final class DataFingerprintTest {

  private static final String POINTS = "x,y,class\n1,2,in\n3,4,out\n5,6,in\n7,8,out\n";

  @TempDir private Path root;

  @Test
  void shouldBeTheSameInAnotherFolderAtAnotherTimeAndCompressed() throws IOException {
    Path file = write("here/points.csv", POINTS.getBytes(StandardCharsets.UTF_8));
    Path copy = write("there/points.csv", POINTS.getBytes(StandardCharsets.UTF_8));
    Files.setLastModifiedTime(copy, FileTime.fromMillis(0));
    Path packed = write("packed/points.csv.gz", gzip(POINTS.getBytes(StandardCharsets.UTF_8)));

    assertEquals(csv(file), csv(copy));
    assertEquals(Optional.empty(), csv(file).difference(csv(packed)));
  }

  @Test
  void shouldNameTheCountsAndTheFileWhenLabelsAreSwapped() {
    Path file = write("here/points.csv", POINTS.getBytes(StandardCharsets.UTF_8));
    String swapped = POINTS.replace("in", "?").replace("out", "in").replace("?", "out");
    Path other = write("there/points.csv", swapped.getBytes(StandardCharsets.UTF_8));

    String difference = csv(file).difference(csv(other)).orElseThrow();

    assertTrue(
        difference.startsWith(
            "found 2 samples of 2 classes, expected 2 samples of 2 classes; the first file that"
                + " differs: found points.csv with %d bytes (hash ".formatted(swapped.length())),
        difference);
  }

  /** A column in another unit has the same values once it is standardised. */
  @Test
  void shouldDifferWhenRowsColumnsOrClassesDiffer() {
    Path file = write("here/points.csv", POINTS.getBytes(StandardCharsets.UTF_8));
    for (String other :
        List.of(
            POINTS.replace("7,8,out\n", ""),
            POINTS.replaceAll("(?m)^([0-9]),", "$10,"),
            POINTS.replace("out", "off"))) {
      Path there = write("there/points.csv", other.getBytes(StandardCharsets.UTF_8));

      assertTrue(csv(file).difference(csv(there)).isPresent(), other);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"targets", "labels"})
  void shouldDifferWhenOneOfSeveralTargetsDoes(String key) {
    byte[] table = "x,a,b\n1,0,1\n3,1,0\n5,0,0\n7,1,1\n".getBytes(StandardCharsets.UTF_8);
    byte[] changed = "x,a,b\n1,0,0\n3,1,0\n5,0,1\n7,1,1\n".getBytes(StandardCharsets.UTF_8);
    Map<String, Object> options = Map.of(key, List.of("a", "b"), "testShare", 0.25);
    DataConfig file = in("csv", write("here/table.csv", table), options);
    DataConfig other = in("csv", write("there/table.csv", changed), options);

    DataFingerprint found = of(new CsvProvider(), file, Split.TRAIN);

    assertEquals(found, of(new CsvProvider(), file, Split.TRAIN));
    assertTrue(found.difference(of(new CsvProvider(), other, Split.TRAIN)).isPresent());
  }

  @Test
  void shouldBeTheSameWhenFilesOfMnistAreCompressedAndNameTheOneThatDiffers() {
    mnist("raw", false, (byte) 3);
    mnist("packed", true, (byte) 3);
    mnist("other", false, (byte) 4);

    assertEquals(Optional.empty(), mnist("raw").difference(mnist("packed")));
    String difference = mnist("raw").difference(mnist("other")).orElseThrow();
    assertTrue(difference.contains("found t10k-labels-idx1-ubyte with 10 bytes"), difference);
  }

  @Test
  void shouldNameTheBatchOfCifarThatDiffers() {
    for (String folder : List.of("here", "there")) {
      for (int batch = 1; batch <= 2; batch++) {
        byte[] record = new byte[3073];
        record[9] = (byte) (folder.equals("there") && batch == 2 ? 1 : 0);
        write("%s/data_batch_%d.bin".formatted(folder, batch), record);
      }
    }

    String difference = cifar("here").difference(cifar("there")).orElseThrow();

    assertTrue(difference.contains("found data_batch_2.bin with 3073 bytes"), difference);
  }

  @Test
  void shouldNameThePictureThatDiffers() throws IOException {
    for (String folder : List.of("here", "there")) {
      picture(folder + "/train/cat/a.png", 1);
      picture(folder + "/train/cat/b.png", folder.equals("there") ? 9 : 2);
      picture(folder + "/train/dog/c.png", 3);
    }

    String difference = pictures("here").difference(pictures("there")).orElseThrow();

    assertTrue(difference.contains("found train/cat/b.png with "), difference);
  }

  /** The files are the same in the same order, and only their classes differ. */
  @Test
  void shouldDifferWhenAPictureIsInAnotherClass() throws IOException {
    for (String folder : List.of("here", "there")) {
      picture(folder + "/train/cat/a.png", 1);
      picture(folder + "/train/%s/b.png".formatted(folder.equals("here") ? "cat" : "dog"), 2);
      picture(folder + "/train/dog/c.png", 3);
    }

    String difference = pictures("here").difference(pictures("there")).orElseThrow();

    assertTrue(difference.contains("found train/dog/b.png"), difference);
    assertTrue(difference.contains("expected train/cat/b.png"), difference);
  }

  @Test
  void shouldNameTheFolderWhenPicturesAreTooManyToBeListed() throws IOException {
    for (String folder : List.of("here", "there")) {
      for (int i = 0; i < DataFingerprint.MOST_FILES; i++) {
        picture("%s/train/cat/%d.png".formatted(folder, i), 1);
      }
      picture(folder + "/train/dog/a.png", 1);
      picture(folder + "/train/dog/b.png", folder.equals("there") ? 3 : 2);
    }

    String difference = pictures("here").difference(pictures("there")).orElseThrow();

    assertEquals(2, pictures("here").files().size());
    assertTrue(difference.contains("found train/dog with "), difference);
  }

  @Test
  void shouldNameTheTextThatDiffers() {
    for (String folder : List.of("here", "there")) {
      write(folder + "/a.txt", "the same text".getBytes(StandardCharsets.UTF_8));
      write(folder + "/b.txt", ("read " + folder).getBytes(StandardCharsets.UTF_8));
    }
    DatasetProvider text = new TextProvider();
    Map<String, Object> options = Map.of("length", 2, "testShare", 0.3);

    DataFingerprint here = of(text, in("text", root.resolve("here"), options), Split.TRAIN);
    DataFingerprint there = of(text, in("text", root.resolve("there"), options), Split.TRAIN);

    assertTrue(here.difference(there).orElseThrow().contains("found b.txt with 10 bytes"));
  }

  /** Samples of providers without files are read through their public methods. */
  @Test
  void shouldDetectOneDifferentSampleOfMany() {
    DataFingerprint right = DataFingerprint.of(samples(10_000, i -> i % 2));
    DataFingerprint wrong = DataFingerprint.of(samples(10_000, i -> i == 7_777 ? 0 : i % 2));
    DataFingerprint fewer = DataFingerprint.of(samples(9_999, i -> i % 2));

    assertEquals(
        Optional.empty(), right.difference(DataFingerprint.of(samples(10_000, i -> i % 2))));
    assertEquals(
        "found 10000 samples of 2 classes, expected 10000 samples of 2 classes with other values or"
            + " other classes",
        right.difference(wrong).orElseThrow());
    assertEquals(
        "found 9999 samples of 2 classes, expected 10000 samples of 2 classes",
        right.difference(fewer).orElseThrow());
  }

  @Test
  void shouldCompareAFewSamplesWhenOneSideHasNotReadAll() {
    DataFingerprint all = DataFingerprint.of(samples(10_000, i -> i % 2));
    DataFingerprint some =
        new DataFingerprint(all.counts(), all.hash(), Optional.empty(), all.files());
    DataFingerprint other =
        new DataFingerprint(all.counts(), "0123456789abcdef", Optional.empty(), all.files());

    assertEquals(Optional.empty(), all.difference(some));
    assertTrue(some.difference(other).isPresent());
    assertNotEquals(all, some);
  }

  @Test
  void shouldReadWrittenVersionsAndNameAMalformedOne() {
    Map<String, DataFingerprint> written =
        new TreeMap<>(
            Map.of(
                "model", DataFingerprint.of(write("net.zip", new byte[] {1, 2, 3})),
                "trainingData", DataFingerprint.of(samples(10, i -> i % 2))));

    JsonObject json = DataFingerprint.json(written);

    assertEquals(written, DataFingerprint.all(json));
    JsonObject malformed = new JsonObject().put("model", new JsonObject().put("files", 7));
    String message =
        assertThrows(IllegalArgumentException.class, () -> DataFingerprint.all(malformed))
            .getMessage();
    assertTrue(message.startsWith("fingerprint of model: found {\"files\":7}"), message);
  }

  private static Dataset samples(int size, IntUnaryOperator label) {
    byte[] labels = new byte[size];
    IntStream.range(0, size).forEach(i -> labels[i] = (byte) label.applyAsInt(i));
    return new ImageDataset(
        new byte[size], labels, size, List.of(1, 1, 1), 2, List.of(new Normalisation(0, 1)));
  }

  private DataFingerprint csv(Path file) {
    Map<String, Object> options = Map.of("label", "class", "testShare", 0.5);
    return of(new CsvProvider(), in("csv", file, options), Split.TRAIN);
  }

  private void mnist(String folder, boolean packed, byte label) {
    byte[] pixels = images(0x803, 2, 1, 2, (byte) 0, (byte) 51, (byte) 255, (byte) 9);
    byte[] classes = labels(0x801, 2, (byte) 7, label);
    String ending = packed ? ".gz" : "";
    write(folder + "/t10k-images-idx3-ubyte" + ending, packed ? gzip(pixels) : pixels);
    write(folder + "/t10k-labels-idx1-ubyte" + ending, packed ? gzip(classes) : classes);
  }

  private DataFingerprint mnist(String folder) {
    return of(new MnistProvider(), in("mnist", root.resolve(folder), Map.of()), Split.TEST);
  }

  private DataFingerprint cifar(String folder) {
    return of(new Cifar10Provider(), in("cifar10", root.resolve(folder), Map.of()), Split.TRAIN);
  }

  private void picture(String name, int colour) throws IOException {
    Path file = root.resolve(name);
    Files.createDirectories(file.getParent());
    BufferedImage image = new BufferedImage(2, 2, BufferedImage.TYPE_INT_RGB);
    image.setRGB(1, 1, colour);
    ImageIO.write(image, "png", file.toFile());
  }

  private DataFingerprint pictures(String folder) {
    Map<String, Object> options = Map.of("height", 2, "width", 2);
    return of(new ImagesProvider(), in("images", root.resolve(folder), options), Split.TRAIN);
  }

  private Path write(String name, byte[] content) {
    return SampleFiles.write(root.resolve(name), content);
  }

  private static DataFingerprint of(DatasetProvider provider, DataConfig config, Split split) {
    return provider.fingerprint(config, split, provider.open(config, split)).orElseThrow();
  }
}
