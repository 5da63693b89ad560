package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.Content;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.IntStream;

/**
 * Opens {@code cifar10}: the binary or the Python version, raw or {@code .gz}, with all training
 * files that exist.
 *
 * <p>An image is 3072 pixel bytes, the red plane, then green, then blue (Krizhevsky: "Learning
 * multiple layers of features from tiny images", 2009). If both versions exist, the binary one is
 * read. Options: {@code train} and {@code test} (most samples to use); {@code normalization}
 * (standard); {@code augmentation} (none).
 */
public final class Cifar10Provider implements DatasetProvider {

  private static final String BINARY = ".bin";
  private static final List<Integer> SHAPE = List.of(3, 32, 32);
  private static final List<String> TRAINING_FILES =
      IntStream.rangeClosed(1, 5).mapToObj(i -> "data_batch_" + i).toList();
  private static final List<String> SUBFOLDERS =
      List.of("cifar10", "cifar-10-batches-bin", "cifar-10-batches-py", "cifar10-small");
  private static final String ADVICE =
      "name the folder of the unpacked CIFAR-10, binary or Python version, with --data DIR, "
          + "or train on the generated data set 'shapes'";

  @Override
  public String name() {
    return "cifar10";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(Targets.Kind.CLASS);
  }

  @Override
  public OptionalInt classes(DataConfig config) {
    return OptionalInt.of(CifarBatch.CLASSES);
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    ImageOptions options = ImageOptions.read(config, Normalisation.CIFAR10);
    List<CifarBatch> batches =
        files(config, split).stream()
            .map(file -> isBinary(file) ? CifarBatch.binary(file) : CifarBatch.pickled(file))
            .toList();
    return joined(batches, options.most(split), options.normalisation());
  }

  @Override
  public void check(DataConfig config, Split split) {
    ImageOptions.read(config, Normalisation.CIFAR10);
    files(config, split);
  }

  /** Assigns the samples to the files in equal parts, as they are in the files of its authors. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    List<Path> files = files(config, split);
    int each = (opened.size() + files.size() - 1) / files.size();
    List<FilePart> parts =
        IntStream.range(0, files.size())
            .mapToObj(i -> part(files.get(i), opened, i * each, (i + 1) * each))
            .toList();
    return Optional.of(DataFingerprint.of(opened, parts));
  }

  private static FilePart part(Path file, Dataset opened, int first, int next) {
    int from = Math.min(first, opened.size());
    int to = Math.min(next, opened.size());
    return FilePart.of(
        file,
        file,
        DataFingerprint.mix(
            DataFingerprint.hash(opened, Content.FEATURES, from, to),
            DataFingerprint.hash(opened, Content.TARGETS, from, to)));
  }

  /** Returns the existing files of a split, of the binary version if any of its files exists. */
  private static List<Path> files(DataConfig config, Split split) {
    DataFolder folder = DataFolder.of(config, SUBFOLDERS, ADVICE);
    List<String> names = split == Split.TRAIN ? TRAINING_FILES : List.of("test_batch");
    List<Path> binary =
        names.stream().map(name -> folder.find(name + BINARY)).flatMap(Optional::stream).toList();
    List<Path> pickled = names.stream().map(folder::find).flatMap(Optional::stream).toList();
    if (binary.isEmpty() && pickled.isEmpty()) {
      throw folder.missing(names.get(0) + BINARY);
    }
    return binary.isEmpty() ? pickled : binary;
  }

  /** Returns true for the binary version, raw or {@code .gz}. */
  private static boolean isBinary(Path file) {
    return file.getFileName().toString().contains(BINARY);
  }

  private static Dataset joined(
      List<CifarBatch> batches, int most, List<Normalisation> normalisation) {
    int size = batches.stream().mapToInt(CifarBatch::size).sum();
    byte[] pixels = new byte[Math.multiplyExact(size, CifarBatch.IMAGE_BYTES)];
    byte[] labels = new byte[size];
    int sample = 0;
    for (CifarBatch batch : batches) {
      batch.copyTo(pixels, labels, sample);
      sample += batch.size();
    }
    return new ImageDataset(
        pixels, labels, Math.min(most, size), SHAPE, CifarBatch.CLASSES, normalisation);
  }
}
