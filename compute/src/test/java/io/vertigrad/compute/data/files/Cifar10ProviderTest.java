package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.SampleFiles.gzip;
import static io.vertigrad.compute.data.files.SampleFiles.write;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider.Split;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class Cifar10ProviderTest {

  private static final int RECORD_BYTES = 3073;

  @TempDir private Path folder;

  @Test
  void shouldReadBothSplitsWhenTheFilesAreReal() {
    Path real = RealData.folder("cifar10-small");

    Dataset train = open(real, Split.TRAIN, Map.of());
    Dataset test = open(real.getParent(), Split.TEST, Map.of("test", 1_000));

    assertEquals(10_000, train.size());
    assertEquals(1_000, test.size());
    assertEquals(List.of(3, 32, 32), train.shape());
    float[] sample = new float[3072];
    double[] sums = new double[3];
    for (int i = 0; i < train.size(); i++) {
      train.read(i, sample, 0);
      for (int p = 0; p < sample.length; p++) {
        sums[p / 1024] += sample[p];
      }
    }
    for (double sum : sums) {
      // The published means are those of all 50,000 images; this set is a part of them.
      assertEquals(0, sum / train.size() / 1024, 0.05);
    }
  }

  @Test
  void shouldJoinTrainingFilesInOrderWhenSomeAreCompressed() {
    write(folder.resolve("data_batch_2.bin"), record(2, 0, 0, 255));
    write(folder.resolve("data_batch_1.bin.gz"), gzip(record(1, 255, 0, 0)));
    Dataset train = open(folder, Split.TRAIN, Map.of());
    float[] sample = new float[3072];

    train.read(1, sample, 0);

    assertEquals(2, train.size());
    assertEquals(1, train.label(0));
    assertEquals(2, train.label(1));
    assertEquals((0 - 0.4914f) / 0.2023f, sample[0], 1e-6f);
    assertEquals((0 - 0.4822f) / 0.1994f, sample[1024], 1e-6f);
    assertEquals((1 - 0.4465f) / 0.2010f, sample[2048], 1e-6f);
  }

  @Test
  void shouldReadTheUnnormalisedInputsWhenTheOptionIsSet() {
    write(folder.resolve("test_batch.bin"), record(2, 0, 51, 255));
    float[] unit = new float[3072];
    float[] raw = new float[3072];

    open(folder, Split.TEST, Map.of("normalization", "unit")).read(0, unit, 0);
    open(folder, Split.TEST, Map.of("normalization", "raw")).read(0, raw, 0);

    assertEquals(List.of(0f, 51 / 255f, 1f), List.of(unit[0], unit[1024], unit[2048]));
    assertEquals(List.of(0f, 51f, 255f), List.of(raw[0], raw[1024], raw[2048]));
  }

  @Test
  void shouldNameTheFileWhenItIsNotWholeRecords() {
    Path path = write(folder.resolve("test_batch.bin"), new byte[RECORD_BYTES + 5]);

    assertEquals(
        path
            + ": truncated or damaged: 3078 bytes, expected a multiple of 3073 "
            + "(label and 3x32x32)",
        refusal(Split.TEST));
  }

  @Test
  void shouldNameTheRecordWhenItsLabelIsOutOfRange() {
    Path path = write(folder.resolve("test_batch.bin"), record(10, 0, 0, 0));

    assertEquals(path + ": label of record 0 is 10, expected 0 to 9", refusal(Split.TEST));
  }

  @Test
  void shouldReportTheExpectedFilesWhenNoneIsThere() {
    assertEquals(
        folder
            + ": has no data_batch_1.bin or data_batch_1.bin.gz, neither directly nor in "
            + "cifar10/, cifar-10-batches-bin/, cifar-10-batches-py/, cifar10-small/; "
            + "name the folder of the unpacked CIFAR-10, binary or Python version, with --data DIR, "
            + "or train on the generated data set 'shapes'",
        refusal(Split.TRAIN));
  }

  private Dataset open(Path from, Split split, Map<String, Object> options) {
    return new Cifar10Provider().open(SampleFiles.in("cifar10", from, options), split);
  }

  private String refusal(Split split) {
    return assertThrows(DataException.class, () -> open(folder, split, Map.of())).getMessage();
  }

  private static byte[] record(int label, int red, int green, int blue) {
    byte[] record = new byte[RECORD_BYTES];
    record[0] = (byte) label;
    Arrays.fill(record, 1, 1025, (byte) red);
    Arrays.fill(record, 1025, 2049, (byte) green);
    Arrays.fill(record, 2049, RECORD_BYTES, (byte) blue);
    return record;
  }
}
