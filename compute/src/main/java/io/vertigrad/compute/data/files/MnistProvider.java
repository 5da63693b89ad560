package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.Content;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Opens {@code mnist}: the four IDX files, raw or {@code .gz}, in the folder or its subfolder
 * {@code mnist/}.
 *
 * <p>With a download address, missing files are fetched into {@code mnist/} first; the default
 * folder is then {@code data}. Options: {@code train} and {@code test} (most samples to use);
 * {@code normalization} (standard); {@code augmentation} (none). Sets with the same file names and
 * ten classes (Fashion-MNIST, KMNIST) open as well.
 */
public final class MnistProvider implements DatasetProvider {

  static final String SUBFOLDER = "mnist";

  private static final int CLASSES = 10;
  private static final String ADVICE =
      "name the folder with --data DIR, fetch the files with --download, "
          + "or train on the generated data set 'digits'";

  @Override
  public String name() {
    return "mnist";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(Targets.Kind.CLASS);
  }

  @Override
  public OptionalInt classes(DataConfig config) {
    return OptionalInt.of(CLASSES);
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    ImageOptions options = ImageOptions.read(config, List.of(Normalisation.MNIST));
    DataConfig fetched = config.download().map(from -> fetch(config, from)).orElse(config);
    List<Path> files = files(fetched, split);
    return pair(files.get(0), files.get(1), options.most(split), options.normalisation());
  }

  @Override
  public void check(DataConfig config, Split split) {
    ImageOptions.read(config, List.of(Normalisation.MNIST));
    if (config.download().isEmpty()) {
      files(config, split);
    }
  }

  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    DataConfig fetched = config.download().map(from -> fetch(config, from)).orElse(config);
    List<Path> files = files(fetched, split);
    return Optional.of(
        DataFingerprint.of(
            opened,
            List.of(
                part(files.get(0), opened, Content.FEATURES),
                part(files.get(1), opened, Content.TARGETS))));
  }

  private static FilePart part(Path file, Dataset opened, Content content) {
    return FilePart.of(file, file, DataFingerprint.hash(opened, content, 0, opened.size()));
  }

  /** Returns the files of the images and of the labels. */
  private static List<Path> files(DataConfig config, Split split) {
    DataFolder folder = DataFolder.of(config, List.of(SUBFOLDER), ADVICE);
    String prefix = split == Split.TRAIN ? "train" : "t10k";
    return List.of(
        folder.require(prefix + "-images-idx3-ubyte"),
        folder.require(prefix + "-labels-idx1-ubyte"));
  }

  private static Dataset pair(
      Path imagesFile, Path labelsFile, int most, List<Normalisation> normalisation) {
    IdxReader.Images images = IdxReader.images(imagesFile);
    byte[] labels = IdxReader.labels(labelsFile, CLASSES);
    if (images.count() != labels.length) {
      throw new DataException(
          "%s: holds %s images, but %s holds %s labels; expected as many: do both belong together?"
              .formatted(imagesFile, images.count(), labelsFile, labels.length));
    }
    return new ImageDataset(
        images.pixels(),
        labels,
        Math.min(most, labels.length),
        List.of(1, images.rows(), images.columns()),
        CLASSES,
        normalisation);
  }

  private static DataConfig fetch(DataConfig config, URI from) {
    Path root = config.directory().orElse(Path.of("data"));
    MnistDownload.from(from).into(root);
    return new DataConfig(
        config.name(), Optional.of(root), config.download(), config.options(), config.origin());
  }
}
