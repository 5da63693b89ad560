package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.settings.Settings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Opens {@code images}: pictures in folders, {@code train/CLASS/} and {@code test/CLASS/}, the
 * classes in the order of their names.
 *
 * <p>Samples are taken from the classes in turn, so that the first so many are of all of them. They
 * are decoded when the set is opened, and kept as bytes. Options: {@code height} and {@code width}
 * (32), {@code channels} (3), {@code fit} (stretch), {@code train} and {@code test}, to use only
 * the first so many samples; {@code normalization} (standard); {@code augmentation} (none).
 */
public final class ImagesProvider implements DatasetProvider {

  private static final int USUAL_SIDE = 32;
  private static final int MOST_PIXELS_A_SIDE = 1024;
  private static final int MOST_CLASSES = 256;
  private static final int MOST_BYTES = Integer.MAX_VALUE - 8;
  private static final List<String> ENDINGS = List.of(".png", ".jpg", ".jpeg", ".gif", ".bmp");
  private static final String ADVICE =
      "name the folder with --data DIR; it holds train/CLASS/ and test/CLASS/ with PNG or JPEG files";

  /** What the options ask for. */
  private record Options(
      List<Integer> shape, ImageFile.Fit fit, int most, List<Normalisation> normalisation) {

    static Options read(DataConfig config, Split split) {
      Settings options = config.settings();
      int channels = options.integer("channels", 3, 1, 3);
      if (channels == 2) {
        throw options.refuse("channels", "is 2, expected 1 (grey) or 3 (red, green, blue)");
      }
      int height = options.integer("height", USUAL_SIDE, 1, MOST_PIXELS_A_SIDE);
      int width = options.integer("width", USUAL_SIDE, 1, MOST_PIXELS_A_SIDE);
      ImageFile.Fit fit = ImageFile.Fit.of(options);
      int train = options.integer("train", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      int test = options.integer("test", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      List<Normalisation> rules =
          Normalisation.of(options, Collections.nCopies(channels, new Normalisation(0.5f, 0.5f)));
      Augmentations.check(options);
      options.refuseUnknown();
      return new Options(
          List.of(channels, height, width), fit, split == Split.TRAIN ? train : test, rules);
    }
  }

  /** One picture that is not read yet. */
  private record Picture(Path file, int label) {}

  /** The pictures of one split, and how many classes there are. */
  private record Listing(List<Picture> pictures, int classes) {}

  @Override
  public String name() {
    return "images";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(Targets.Kind.CLASS);
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Options options = Options.read(config, split);
    Listing listing = listing(config, split, options.most());
    int size = listing.pictures().size();
    int image = options.shape().stream().reduce(1, Math::multiplyExact);
    if ((long) size * image > MOST_BYTES) {
      throw new DataException(
          "%s: %d images of %s take %d bytes, expected at most %d: lower data.height and data.width, or data.%s"
              .formatted(
                  config.directory().orElseThrow(),
                  size,
                  options.shape(),
                  (long) size * image,
                  MOST_BYTES,
                  folder(split)));
    }
    byte[] pixels = new byte[size * image];
    byte[] labels = new byte[size];
    IntStream.range(0, size)
        .parallel()
        .forEach(
            i -> {
              Picture picture = listing.pictures().get(i);
              labels[i] = (byte) picture.label();
              byte[] bytes = ImageFile.picture(picture.file(), options.shape(), options.fit());
              System.arraycopy(bytes, 0, pixels, i * image, image);
            });
    return new ImageDataset(
        pixels, labels, size, options.shape(), listing.classes(), options.normalisation());
  }

  @Override
  public void check(DataConfig config, Split split) {
    listing(config, split, Options.read(config, split).most());
  }

  @Override
  public long samples(DataConfig config, Split split) {
    return listing(config, split, Options.read(config, split).most()).pictures().size();
  }

  private static Listing listing(DataConfig config, Split split, int most) {
    Path root = DataFolder.of(config, List.of(), ADVICE).root();
    Path training = root.resolve(folder(Split.TRAIN));
    List<String> classes = children(training, Files::isDirectory);
    if (classes.isEmpty() || classes.size() > MOST_CLASSES) {
      throw new DataException(
          "%s: holds %d folders, expected one for each class, at most %d; %s"
              .formatted(training, classes.size(), MOST_CLASSES, ADVICE));
    }
    Path folder = root.resolve(folder(split));
    for (String name : children(folder, Files::isDirectory)) {
      if (!classes.contains(name)) {
        throw new DataException(
            "%s: there is no class '%s' in %s, expected one of its %d folders"
                .formatted(folder.resolve(name), name, training, classes.size()));
      }
    }
    List<List<Path>> files = new ArrayList<>();
    for (String name : classes) {
      Path place = folder.resolve(name);
      files.add(
          Files.isDirectory(place)
              ? children(place, ImagesProvider::isPicture).stream().map(place::resolve).toList()
              : List.of());
    }
    List<Picture> pictures = new ArrayList<>();
    int longest = files.stream().mapToInt(List::size).max().orElse(0);
    for (int i = 0; i < longest && pictures.size() < most; i++) {
      for (int label = 0; label < classes.size() && pictures.size() < most; label++) {
        if (i < files.get(label).size()) {
          pictures.add(new Picture(files.get(label).get(i), label));
        }
      }
    }
    if (pictures.isEmpty()) {
      throw new DataException(
          "%s: holds no image, expected files that end in one of %s; %s"
              .formatted(folder, String.join(", ", ENDINGS), ADVICE));
    }
    return new Listing(pictures, classes.size());
  }

  private static String folder(Split split) {
    return split == Split.TRAIN ? "train" : "test";
  }

  private static boolean isPicture(Path file) {
    String name = file.getFileName().toString().toLowerCase(Locale.ROOT);
    return !name.startsWith(".") && ENDINGS.stream().anyMatch(name::endsWith);
  }

  /** Names in a folder, in order; the same on every machine. */
  private static List<String> children(Path folder, Predicate<Path> wanted) {
    try (Stream<Path> found = Files.list(folder)) {
      return found.filter(wanted).map(path -> path.getFileName().toString()).sorted().toList();
    } catch (IOException e) {
      throw new DataException(
          "%s: cannot be listed: %s; %s".formatted(folder, e.getClass().getSimpleName(), ADVICE),
          e);
    }
  }
}
