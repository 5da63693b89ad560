package io.vertigrad.compute.data.files;

import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * Opens {@code cifar10}: the binary version, raw or {@code .gz}, as many training files as there
 * are.
 *
 * <p>A record is one label byte and 3072 pixel bytes, the red plane, then green, then blue
 * (Krizhevsky: "Learning multiple layers of features from tiny images", 2009). Options: {@code
 * train} and {@code test}, to use only the first so many samples; {@code augmentation} (none).
 */
public final class Cifar10Provider implements DatasetProvider {

  private static final int CLASSES = 10;
  private static final List<Integer> SHAPE = List.of(3, 32, 32);
  private static final int IMAGE_BYTES = 3 * 32 * 32;
  private static final int RECORD_BYTES = 1 + IMAGE_BYTES;
  private static final int MOST_RECORDS_A_FILE = 100_000;
  private static final int TRAINING_FILES = 5;
  private static final List<String> SUBFOLDERS =
      List.of("cifar10", "cifar-10-batches-bin", "cifar10-small");
  private static final String ADVICE =
      "name the folder of the CIFAR-10 binary version with --data DIR, "
          + "or train on the generated data set 'shapes'";

  @Override
  public String name() {
    return "cifar10";
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Settings options = config.settings();
    int train = options.integer("train", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
    int test = options.integer("test", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
    Augmentations.check(options);
    options.refuseUnknown();
    return read(files(config, split), split == Split.TRAIN ? train : test);
  }

  @Override
  public void check(DataConfig config, Split split) {
    files(config, split);
  }

  private static List<Path> files(DataConfig config, Split split) {
    DataFolder folder = DataFolder.of(config, SUBFOLDERS, ADVICE);
    return split == Split.TRAIN ? trainingFiles(folder) : List.of(folder.require("test_batch.bin"));
  }

  private static List<Path> trainingFiles(DataFolder folder) {
    List<Path> files =
        IntStream.rangeClosed(1, TRAINING_FILES)
            .mapToObj(i -> folder.find("data_batch_%d.bin".formatted(i)))
            .flatMap(Optional::stream)
            .toList();
    if (files.isEmpty()) {
      throw folder.missing("data_batch_1.bin");
    }
    return files;
  }

  private static Dataset read(List<Path> files, int most) {
    List<byte[]> parts = files.stream().map(Cifar10Provider::records).toList();
    int size = parts.stream().mapToInt(part -> part.length / RECORD_BYTES).sum();
    byte[] pixels = new byte[Math.multiplyExact(size, IMAGE_BYTES)];
    byte[] labels = new byte[size];
    int sample = 0;
    for (byte[] records : parts) {
      for (int at = 0; at < records.length; at += RECORD_BYTES) {
        System.arraycopy(records, at + 1, pixels, sample * IMAGE_BYTES, IMAGE_BYTES);
        labels[sample++] = records[at];
      }
    }
    return new ImageDataset(
        pixels, labels, Math.min(most, size), SHAPE, CLASSES, Normalisation.CIFAR10);
  }

  private static byte[] records(Path path) {
    try (DataFile file = DataFile.open(path)) {
      byte[] records = file.readAll(MOST_RECORDS_A_FILE * RECORD_BYTES);
      if (records.length == 0 || records.length % RECORD_BYTES != 0) {
        throw new DataException(
            "%s: truncated or damaged: %d bytes, expected a multiple of %d (label and 3x32x32)"
                .formatted(path, records.length, RECORD_BYTES));
      }
      for (int at = 0; at < records.length; at += RECORD_BYTES) {
        checkLabel(path, at / RECORD_BYTES, records[at] & 0xFF);
      }
      return records;
    }
  }

  private static void checkLabel(Path path, int record, int label) {
    if (label >= CLASSES) {
      throw new DataException(
          "%s: label of record %d is %d, expected 0 to %d"
              .formatted(path, record, label, CLASSES - 1));
    }
  }
}
