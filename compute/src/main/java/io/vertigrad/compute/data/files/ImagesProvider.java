package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.ImageDataset;
import io.vertigrad.compute.data.Normalisation;
import io.vertigrad.compute.settings.Settings;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Opens {@code images}: pictures in folders, {@code train/CLASS/} and {@code test/CLASS/}, with the
 * classes in the order of their names.
 *
 * <p>Samples are taken from the classes in turn, so that a limited number of samples covers all
 * classes. Pictures are decoded when the set is opened, and kept as bytes. Options: {@code height}
 * and {@code width} (32), {@code channels} (3), {@code fit} (stretch), {@code background} (of
 * transparent pictures; white), {@code train} and {@code test} (most samples to use); {@code
 * testShare} (of each class in {@code train/}, if there is no {@code test/}) and {@code seed} (of
 * their choice; 1); {@code normalization} (standard); {@code augmentation} (none).
 */
public final class ImagesProvider implements DatasetProvider {

  private static final int USUAL_SIDE = 32;
  private static final int MOST_PIXELS_A_SIDE = 1024;
  private static final int MOST_CLASSES = 256;
  private static final int LOOKED_AT = 16;
  private static final int MOST_BYTES = Integer.MAX_VALUE - 8;
  private static final List<String> ENDINGS = List.of(".png", ".jpg", ".jpeg", ".gif", ".bmp");
  private static final Set<String> DESKTOP_FILES = Set.of("thumbs.db", "desktop.ini");
  private static final String ADVICE =
      "name the folder with --data DIR; it holds train/CLASS/ and test/CLASS/ with PNG or JPEG files";

  /** The values of the options. */
  private record Options(
      List<Integer> shape,
      ImageFile.Treatment treatment,
      int most,
      OptionalDouble testShare,
      long seed,
      List<Normalisation> normalisation) {

    static Options read(DataConfig config, Split split) {
      Settings options = config.settings();
      int channels = options.integer("channels", 3, 1, 3);
      if (channels == 2) {
        throw options.refuse("channels", "is 2, expected 1 (grey) or 3 (red, green, blue)");
      }
      int height = options.integer("height", USUAL_SIDE, 1, MOST_PIXELS_A_SIDE);
      int width = options.integer("width", USUAL_SIDE, 1, MOST_PIXELS_A_SIDE);
      ImageFile.Treatment treatment = ImageFile.Treatment.of(options);
      int train = options.integer("train", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      int test = options.integer("test", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      List<Normalisation> rules =
          Normalisation.of(options, Collections.nCopies(channels, new Normalisation(0.5f, 0.5f)));
      boolean shared = options.has("testShare");
      double share = options.number("testShare", 0.1, 0.001, 0.999);
      long seed = options.longInteger("seed", 1, 0, Long.MAX_VALUE);
      Augmentations.check(options);
      options.refuseUnknown();
      return new Options(
          List.of(channels, height, width),
          treatment,
          split == Split.TRAIN ? train : test,
          shared ? OptionalDouble.of(share) : OptionalDouble.empty(),
          seed,
          rules);
    }
  }

  /** A picture that has not been read yet. */
  private record Picture(Path file, int label) {}

  /** The pictures of one split, and the names of the classes. */
  private record Listing(List<Picture> pictures, List<String> classes) {}

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
    Listing listing = listing(config, split, options);
    int size = listing.pictures().size();
    int image = options.shape().stream().reduce(1, Math::multiplyExact);
    if ((long) size * image > MOST_BYTES) {
      throw new DataException(
          "%s: %s images of %s take %s bytes, expected at most %s: lower data.height and data.width, or data.%s"
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
              byte[] bytes =
                  ImageFile.picture(picture.file(), options.shape(), options.treatment());
              System.arraycopy(bytes, 0, pixels, i * image, image);
            });
    return new ImageDataset(
        pixels, labels, size, options.shape(), listing.classes(), options.normalisation());
  }

  @Override
  public void check(DataConfig config, Split split) {
    listing(config, split, Options.read(config, split));
  }

  @Override
  public long samples(DataConfig config, Split split) {
    return listing(config, split, Options.read(config, split)).pictures().size();
  }

  /** Hashes the files' bytes, because decoders of several machines may differ in the last bit. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    Path root = config.directory().orElseThrow();
    List<Picture> pictures =
        listing(config, split, Options.read(config, split)).pictures().stream()
            .sorted(Comparator.comparing(Picture::file))
            .toList();
    List<FilePart> files = pictures.parallelStream().map(picture -> part(root, picture)).toList();
    return Optional.of(
        DataFingerprint.of(
            opened, files.size() > DataFingerprint.MOST_FILES ? folders(files) : files));
  }

  private static FilePart part(Path root, Picture picture) {
    try (InputStream in = Files.newInputStream(picture.file())) {
      long hash = DataFingerprint.mix(DataFingerprint.hash(in), picture.label());
      return FilePart.of(root, picture.file(), hash);
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(picture.file(), e), e);
    }
  }

  /** Returns one part for each class, which are too many files to be listed. */
  private static List<FilePart> folders(List<FilePart> files) {
    Map<String, FilePart> folders = new LinkedHashMap<>();
    for (FilePart file : files) {
      String folder = file.name().substring(0, file.name().lastIndexOf('/'));
      folders.merge(folder, file, (before, next) -> before.and(folder, next));
    }
    return List.copyOf(folders.values());
  }

  @Override
  public List<String> classNames(DataConfig config) {
    return listing(config, Split.TRAIN, Options.read(config, Split.TRAIN)).classes();
  }

  /**
   * Checks the first images of each class, scaled to the model's input, and names classes that are
   * not tested and files that are not read.
   */
  @Override
  public List<String> warnings(DataConfig config) {
    Options options = Options.read(config, Split.TRAIN);
    Listing listing = listing(config, Split.TRAIN, options);
    List<String> warnings =
        IntStream.range(0, listing.classes().size())
            .parallel()
            .mapToObj(label -> warning(listing, label, options))
            .flatMap(Optional::stream)
            .collect(Collectors.toCollection(ArrayList::new));
    Path root = root(config);
    Map<String, Long> counts = new TreeMap<>();
    listing
        .pictures()
        .forEach(picture -> counts.merge(listing.classes().get(picture.label()), 1L, Long::sum));
    Confusables.describe(counts, "pictures")
        .forEach(one -> warnings.add("%s: classes %s".formatted(root, one)));
    boolean tested = Files.isDirectory(root.resolve(folder(Split.TEST)));
    if (tested || options.testShare().isPresent()) {
      untested(root, listing(config, Split.TEST, Options.read(config, Split.TEST)))
          .ifPresent(warnings::add);
    }
    unread(root.resolve(folder(Split.TRAIN))).ifPresent(warnings::add);
    if (tested) {
      unread(root.resolve(folder(Split.TEST))).ifPresent(warnings::add);
    }
    return warnings;
  }

  private static Optional<String> untested(Path root, Listing test) {
    Set<Integer> tested =
        test.pictures().stream().map(Picture::label).collect(Collectors.toUnmodifiableSet());
    List<String> missing =
        IntStream.range(0, test.classes().size())
            .filter(label -> !tested.contains(label))
            .mapToObj(test.classes()::get)
            .toList();
    if (missing.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        "%s: the test set has no picture of %s of the %s classes, such as '%s', so tests say nothing about them"
            .formatted(root, missing.size(), test.classes().size(), missing.get(0)));
  }

  /** Names what lies between the pictures of a split and is neither read nor known to be noise. */
  private static Optional<String> unread(Path folder) {
    List<Path> found = new ArrayList<>();
    for (String name : children(folder, path -> !isHidden(path))) {
      Path child = folder.resolve(name);
      if (Files.isDirectory(child)) {
        children(child, path -> !isPicture(path) && !isHidden(path)).stream()
            .map(child::resolve)
            .forEach(found::add);
      } else {
        found.add(child);
      }
    }
    if (found.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        "%s: %s not read, such as %s; pictures lie in the folder of their class, in files that end in one of %s"
            .formatted(
                folder,
                found.size() == 1 ? "1 file or folder is" : found.size() + " files or folders are",
                folder.relativize(found.get(0)),
                String.join(", ", ENDINGS)));
  }

  private static Optional<String> warning(Listing listing, int label, Options options) {
    List<Path> files =
        listing.pictures().stream()
            .filter(picture -> picture.label() == label)
            .map(Picture::file)
            .toList();
    List<byte[]> images =
        files.stream()
            .limit(LOOKED_AT)
            .map(file -> ImageFile.picture(file, options.shape(), options.treatment()))
            .toList();
    boolean constant = images.stream().allMatch(image -> isConstant(image, options.shape().get(0)));
    boolean identical = images.stream().allMatch(image -> Arrays.equals(image, images.get(0)));
    if (images.isEmpty() || !constant && (!identical || images.size() == 1)) {
      return Optional.empty();
    }
    return Optional.of(
        "%s: %s of class '%s' %s once scaled to %s, so nothing can be learned from them; look at the files, and at data.background if they are transparent"
            .formatted(
                files.get(0).getParent(),
                images.size() < files.size()
                    ? "the first %s of %s images".formatted(images.size(), files.size())
                    : files.size() == 1
                        ? "the only image"
                        : "all %s images".formatted(files.size()),
                listing.classes().get(label),
                !constant
                    ? "are identical"
                    : images.size() == 1 ? "has one colour" : "have one colour each",
                options.shape()));
  }

  private static boolean isConstant(byte[] image, int channels) {
    int plane = image.length / channels;
    for (int first = 0; first < image.length; first += plane) {
      int least = 255;
      int most = 0;
      for (int i = first; i < first + plane; i++) {
        least = Math.min(least, image[i] & 0xFF);
        most = Math.max(most, image[i] & 0xFF);
      }
      if (most > least) {
        return false;
      }
    }
    return true;
  }

  private static Path root(DataConfig config) {
    return DataFolder.of(config, List.of(), ADVICE).root();
  }

  private static Listing listing(DataConfig config, Split split, Options options) {
    int most = options.most();
    Path root = root(config);
    Path training = root.resolve(folder(Split.TRAIN));
    List<String> classes = children(training, ImagesProvider::isClass);
    if (classes.isEmpty() || classes.size() > MOST_CLASSES) {
      throw new DataException(
          "%s: holds %s folders, expected one for each class, at most %s; %s"
              .formatted(training, classes.size(), MOST_CLASSES, ADVICE));
    }
    boolean shared =
        options.testShare().isPresent() && !Files.isDirectory(root.resolve(folder(Split.TEST)));
    Path folder = shared ? training : root.resolve(folder(split));
    if (!shared && split == Split.TEST && !Files.isDirectory(folder)) {
      throw new DataException(
          "%s: there is no such folder, expected one folder for each class; %s, or set data.testShare to test on a share of train/"
              .formatted(folder, ADVICE));
    }
    for (String name : children(folder, ImagesProvider::isClass)) {
      if (!classes.contains(name)) {
        throw new DataException(
            "%s: there is no class '%s' in %s, expected one of its %s folders"
                .formatted(folder.resolve(name), name, training, classes.size()));
      }
    }
    List<List<Path>> files = new ArrayList<>();
    List<Path> empty = new ArrayList<>();
    for (String name : classes) {
      Path place = folder.resolve(name);
      List<Path> all =
          Files.isDirectory(place)
              ? children(place, ImagesProvider::isPicture).stream().map(place::resolve).toList()
              : List.of();
      if (all.isEmpty() && folder.equals(training)) {
        empty.add(place);
      }
      files.add(shared ? chosen(all, files.size(), split, options) : all);
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
    if (!empty.isEmpty()) {
      throw new DataException(
          "%s: holds no picture%s; every folder of train/ is a class: remove it, or put pictures of the class into it, in files that end in one of %s"
              .formatted(
                  empty.get(0),
                  empty.size() == 1 ? "" : ", as %s more folders".formatted(empty.size() - 1),
                  String.join(", ", ENDINGS)));
    }
    return new Listing(pictures, classes);
  }

  /** Chooses a share of each class, so that no class is missing in training. */
  private static List<Path> chosen(List<Path> all, int label, Split split, Options options) {
    if (all.size() < 2) {
      return split == Split.TRAIN ? all : List.of();
    }
    double share = options.testShare().getAsDouble();
    return IntStream.of(TestShare.split(all.size(), share, options.seed() + label, split))
        .mapToObj(all::get)
        .toList();
  }

  private static String folder(Split split) {
    return split == Split.TRAIN ? "train" : "test";
  }

  private static boolean isClass(Path path) {
    return !isHidden(path) && Files.isDirectory(path);
  }

  private static boolean isPicture(Path file) {
    String name = file.getFileName().toString().toLowerCase(Locale.ROOT);
    return !isHidden(file) && ENDINGS.stream().anyMatch(name::endsWith);
  }

  /** Returns true for files that the systems of desktops put into every folder. */
  private static boolean isHidden(Path path) {
    String name = path.getFileName().toString();
    return name.startsWith(".") || DESKTOP_FILES.contains(name.toLowerCase(Locale.ROOT));
  }

  /** Returns the names in a folder, sorted, so that the order is the same on every machine. */
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
