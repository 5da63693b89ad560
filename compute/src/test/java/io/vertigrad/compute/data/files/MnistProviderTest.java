package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.images;
import static io.vertigrad.compute.data.files.SampleFiles.labels;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.SettingsException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MnistProviderTest {

  private static final String ADVICE =
      "name the folder with --data DIR, fetch the files with --download, "
          + "or train on the generated data set 'digits'";

  @TempDir private Path folder;

  @Test
  void shouldReadTheTestImagesWhenTheFilesAreReal() {
    Dataset test = open(RealData.folder("mnist"), Split.TEST, Map.of());
    float[] first = new float[784];
    test.read(0, first, 0);
    int[] labels = new int[10];
    for (int i = 0; i < 10; i++) {
      labels[i] = test.label(i);
    }

    assertEquals(10_000, test.size());
    assertEquals(List.of(1, 28, 28), test.shape());
    assertArrayEquals(new int[] {7, 2, 1, 0, 4, 1, 4, 9, 5, 9}, labels);
    assertEquals((0 / 255f - 0.1307f) / 0.3081f, first[0]);
    // The stroke of the 7 begins in row 7, column 6, with value 84.
    assertEquals((84 / 255f - 0.1307f) / 0.3081f, first[7 * 28 + 6]);
  }

  @Test
  void shouldReadTheUnnormalisedInputsWhenTheOptionIsSet() {
    write(
        folder.resolve("t10k-images-idx3-ubyte"),
        images(0x803, 1, 1, 3, (byte) 0, (byte) 51, (byte) 255));
    write(folder.resolve("t10k-labels-idx1-ubyte"), labels(0x801, 1, (byte) 7));
    float[] unit = new float[3];
    float[] raw = new float[3];

    open(folder, Split.TEST, Map.of("normalization", "unit")).read(0, unit, 0);
    open(folder, Split.TEST, Map.of("normalization", "raw")).read(0, raw, 0);

    assertArrayEquals(new float[] {0, 51 / 255f, 1}, unit, 0);
    assertArrayEquals(new float[] {0, 51, 255}, raw, 0);
  }

  @Test
  void shouldNormaliseRealTrainingDataToMeanZeroAndDeviationOne() {
    Dataset train = open(RealData.folder("mnist").getParent(), Split.TRAIN, Map.of());
    float[] sample = new float[784];
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < train.size(); i++) {
      train.read(i, sample, 0);
      for (float value : sample) {
        sum += value;
        squares += value * value;
      }
    }
    double mean = sum / train.size() / 784;

    assertEquals(60_000, train.size());
    // The published numbers have four digits.
    assertEquals(0, mean, 2e-4);
    assertEquals(1, Math.sqrt(squares / train.size() / 784 - mean * mean), 2e-4);
  }

  @Test
  void shouldFindTheFilesWhenTheyLieInTheSubfolderAsGzip() {
    write(folder.resolve("mnist/train-images-idx3-ubyte.gz"), gzip(twoImages()));
    write(folder.resolve("mnist/train-labels-idx1-ubyte"), twoLabels());

    Dataset train = open(folder, Split.TRAIN, Map.of());

    assertEquals(2, train.size());
    assertEquals(List.of(1, 1, 3), train.shape());
    assertEquals(8, train.label(1));
  }

  @Test
  void shouldUseTheFirstSamplesWhenAnOptionLimitsThem() {
    write(folder.resolve("t10k-images-idx3-ubyte"), twoImages());
    write(folder.resolve("t10k-labels-idx1-ubyte"), twoLabels());

    assertEquals(1, open(folder, Split.TEST, Map.of("test", 1)).size());
    assertEquals(2, open(folder, Split.TEST, Map.of("train", 1, "test", 5)).size());
  }

  @Test
  void shouldReportTheExpectedFilesWhenOneIsMissing() {
    write(folder.resolve("train-images-idx3-ubyte"), twoImages());

    assertEquals(
        folder
            + ": has no train-labels-idx1-ubyte or train-labels-idx1-ubyte.gz, "
            + "neither directly nor in mnist/; "
            + ADVICE,
        refusal(SampleFiles.in("mnist", folder, Map.of())));
  }

  @Test
  void shouldReportAnInvalidFolder() {
    Path file = write(folder.resolve("file"), new byte[1]);
    Path absent = folder.resolve("absent");
    DataConfig without = new DataConfig("mnist", Optional.empty(), Optional.empty(), Map.of());

    assertEquals("data set 'mnist' has no folder to read from; " + ADVICE, refusal(without));
    assertEquals(
        absent
            + ": no such folder, expected a folder with the files of data set 'mnist'; "
            + ADVICE,
        refusal(SampleFiles.in("mnist", absent, Map.of())));
    assertEquals(
        file + ": is not a folder, expected a folder with the files of data set 'mnist'; " + ADVICE,
        refusal(SampleFiles.in("mnist", file, Map.of())));
  }

  @Test
  void shouldNameBothFilesWhenTheirCountsDiffer() {
    Path images = write(folder.resolve("train-images-idx3-ubyte"), twoImages());
    Path labels =
        write(folder.resolve("train-labels-idx1-ubyte"), labels(0x801, 3, new byte[] {1, 2, 3}));

    assertEquals(
        "%s: holds 2 images, but %s holds 3 labels; expected as many: do both belong together?"
            .formatted(images, labels),
        refusal(SampleFiles.in("mnist", folder, Map.of())));
  }

  @Test
  void shouldNameTheOptionWhenItIsUnknown() {
    assertEquals(
        "data set 'mnist': seed is not a known key, expected one of augmentation, "
            + "normalization, test, train",
        assertThrows(SettingsException.class, () -> open(folder, Split.TRAIN, Map.of("seed", 1)))
            .getMessage());
  }

  private static Dataset open(Path folder, Split split, Map<String, Object> options) {
    return new MnistProvider().open(SampleFiles.in("mnist", folder, options), split);
  }

  private static String refusal(DataConfig config) {
    return assertThrows(DataException.class, () -> new MnistProvider().open(config, Split.TRAIN))
        .getMessage();
  }

  private static byte[] twoImages() {
    return images(0x803, 2, 1, 3, new byte[6]);
  }

  private static byte[] twoLabels() {
    return labels(0x801, 2, new byte[] {7, 8});
  }
}
