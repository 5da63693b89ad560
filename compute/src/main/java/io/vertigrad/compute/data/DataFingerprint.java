package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Identifies samples, or a model's file, without containing them: two members of a job compare
 * their fingerprints to find out whether they have the same data. It does not depend on folders,
 * times, or whether a file is {@code .gz}. It finds mistakes, not forgeries.
 *
 * @param counts number of samples and outputs for people, such as {@code 400 samples of 2 classes};
 *     empty for a file
 * @param hash 16 hexadecimal digits, of at least some of the samples
 * @param complete hash of all samples; empty if {@code hash} is that already, or if reading all of
 *     them takes too long
 * @param files the files that the samples come from, in a fixed order; empty if there are none
 * @param samples number and form of the samples; empty for a file, and in what earlier versions
 *     wrote
 */
public record DataFingerprint(
    String counts,
    String hash,
    Optional<String> complete,
    List<FilePart> files,
    Optional<Samples> samples) {

  /** Most values of {@code files}; of more, a provider gives one for each folder. */
  public static final int MOST_FILES = 500;

  private static final VarHandle WORDS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long FACTOR = 0x9E3779B97F4A7C15L;
  private static final int MOST_NAMES = 10;
  private static final int CHUNK = 64;
  private static final int SOME_SAMPLES = 64;
  private static final int BUFFER_BYTES = 1 << 16;
  private static final long READ_NANOS = TimeUnit.SECONDS.toNanos(5);

  /** Copies the list. */
  public DataFingerprint {
    files = List.copyOf(files);
  }

  /**
   * Creates the fingerprint of a file, or of samples of an unknown form.
   *
   * @param counts as {@link #counts()}
   * @param hash as {@link #hash()}
   * @param complete as {@link #complete()}
   * @param files as {@link #files()}
   */
  public DataFingerprint(
      String counts, String hash, Optional<String> complete, List<FilePart> files) {
    this(counts, hash, complete, files, Optional.empty());
  }

  /**
   * Number and form of samples: what a model is built for, without the samples.
   *
   * @param size number of samples
   * @param shape one sample's dimensions, channels first
   * @param targets what a model predicts for each sample
   * @param tokens number of different token ids; 0 for samples of numbers
   */
  public record Samples(int size, List<Integer> shape, Targets targets, int tokens) {

    /** Copies the shape. */
    public Samples {
      shape = List.copyOf(shape);
    }

    /**
     * Returns number and form of a data set's samples.
     *
     * @param data the samples
     * @return their description
     */
    public static Samples of(Dataset data) {
      return new Samples(data.size(), data.shape(), data.targets(), data.tokens());
    }

    /**
     * Returns number and form of a job's training samples. If their number does not matter, it may
     * be that of the test samples, which have the same form.
     *
     * @param known fingerprints by what they are of
     * @param number whether the number matters
     * @return empty if the fingerprints do not have them
     */
    public static Optional<Samples> in(Map<String, DataFingerprint> known, boolean number) {
      DataFingerprint test = number ? null : known.get(Split.TEST.fingerprint());
      return Optional.ofNullable(known.getOrDefault(Split.TRAIN.fingerprint(), test))
          .flatMap(DataFingerprint::samples)
          .filter(found -> found.size() > 0);
    }

    private JsonObject toJson() {
      return JsonObject.of("size", size, "shape", new JsonArray(new ArrayList<>(shape)))
          .put("targets", targets.kind().name())
          .put("outputs", targets.outputs())
          .put("positions", targets.positions())
          .put("tokens", tokens);
    }

    private static Samples read(JsonObject json) {
      List<Integer> shape = new ArrayList<>();
      json.getJsonArray("shape").forEach(side -> shape.add((Integer) side));
      return new Samples(
          json.getInteger("size"),
          shape,
          new Targets(
              Targets.Kind.valueOf(json.getString("targets")),
              json.getInteger("outputs"),
              json.getInteger("positions")),
          json.getInteger("tokens"));
    }
  }

  /**
   * One file, or one folder of many files.
   *
   * @param name without the folder of the data set, and without {@code .gz}
   * @param bytes its length; for {@code .gz} that of the compressed file
   * @param hash hash of what was read from it
   */
  public record FilePart(String name, long bytes, String hash) {

    /**
     * Returns the part of a file.
     *
     * @param root the data set's folder, or the file itself
     * @param file the file, which must exist
     * @param hash hash of what was read from it
     * @return the file's name and length, with this hash
     * @throws DataException when its length cannot be read
     */
    public static FilePart of(Path root, Path file, long hash) {
      Path within = root.equals(file) ? file.getFileName() : root.relativize(file);
      String name = within.toString().replace('\\', '/');
      try {
        return new FilePart(
            name.endsWith(".gz") ? name.substring(0, name.length() - ".gz".length()) : name,
            Files.size(file),
            text(hash));
      } catch (IOException e) {
        throw new DataException("%s: cannot be read: %s".formatted(file, e), e);
      }
    }

    /**
     * Returns the part that stands for this one and another one.
     *
     * @param folder the folder of both
     * @param next the other one
     * @return the folder, with the length of both
     */
    public FilePart and(String folder, FilePart next) {
      long both = mix(Long.parseUnsignedLong(hash, 16), Long.parseUnsignedLong(next.hash, 16));
      return new FilePart(folder, bytes + next.bytes, text(both));
    }

    private String describe() {
      return "%s with %s bytes (hash %s)".formatted(name, bytes, hash);
    }
  }

  /** What of a sample is hashed. */
  public enum Content {
    /** The prepared features. */
    FEATURES,
    /** Classes, labels or values. */
    TARGETS
  }

  /**
   * Returns the fingerprint of samples through {@link Dataset#read}. It reads all samples, unless
   * that takes more than five seconds: then it compares about a hundred, spread over all.
   *
   * @param data the samples
   * @return a fingerprint without files
   */
  public static DataFingerprint of(Dataset data) {
    int stride = Math.max(1, data.size() / SOME_SAMPLES);
    int[] some = IntStream.range(0, data.size()).filter(i -> i % stride == 0).toArray();
    long described = description(data);
    long hash = described;
    for (Content content : Content.values()) {
      hash = mix(hash, hash(data, content, some));
    }
    return new DataFingerprint(
        counts(data),
        text(hash),
        complete(data, described).map(DataFingerprint::text),
        List.of(),
        Optional.of(Samples.of(data)));
  }

  private static Optional<Long> complete(Dataset data, long described) {
    long start = System.nanoTime();
    long hash = described;
    for (Content content : Content.values()) {
      long[] chunks = new long[(data.size() + CHUNK - 1) / CHUNK];
      IntStream.range(0, chunks.length)
          .parallel()
          .filter(chunk -> System.nanoTime() - start < READ_NANOS)
          .forEach(chunk -> chunks[chunk] = chunk(data, content, chunk, 0, data.size()));
      if (System.nanoTime() - start >= READ_NANOS) {
        return Optional.empty();
      }
      hash = mixed(hash, chunks);
    }
    return Optional.of(hash);
  }

  /**
   * Returns the fingerprint of samples with the files that they come from.
   *
   * @param data the samples
   * @param files one part for each file, with {@link #hash(Dataset, Content, int, int)} or {@link
   *     #hash(InputStream)} of what was read from it; together they cover all samples
   * @return the fingerprint
   */
  public static DataFingerprint of(Dataset data, Collection<FilePart> files) {
    long hash = description(data);
    for (FilePart file : files) {
      hash = mix(hash, Long.parseUnsignedLong(file.hash(), 16));
    }
    return new DataFingerprint(
        counts(data),
        text(hash),
        Optional.empty(),
        List.copyOf(files),
        Optional.of(Samples.of(data)));
  }

  /**
   * Returns the fingerprint of the form of samples, for members that have samples of their own:
   * shape, targets, tokens, and all names that were found in the data, such as those of classes and
   * columns. Neither the number of samples nor their values count.
   *
   * @param data the samples
   * @return a fingerprint without files, whose {@link #samples()} have the size of these
   */
  public static DataFingerprint ofForm(Dataset data) {
    String shape = data.shape().stream().map(String::valueOf).collect(Collectors.joining("x"));
    List<String> names = data.classNames();
    JsonObject fitted = new JsonObject(new TreeMap<>(data.fitted()));
    String counts =
        "samples of %s with %s %s%s%s"
            .formatted(
                data.tokens() > 0 ? "%s of %s tokens".formatted(shape, data.tokens()) : shape,
                data.classes(),
                data.targets().kind().text(),
                names.isEmpty() || names.size() > MOST_NAMES
                    ? ""
                    : " (%s)".formatted(String.join(", ", names)),
                otherNames(fitted, names));
    List<Object> form = new ArrayList<>(List.of(data.shape(), data.targets(), data.tokens()));
    form.add(names);
    form.add(texts(fitted));
    byte[] bytes = form.toString().getBytes(StandardCharsets.UTF_8);
    return new DataFingerprint(
        counts,
        text(mix(0, bytes, 0, bytes.length)),
        Optional.empty(),
        List.of(),
        Optional.of(Samples.of(data)));
  }

  /** Describes the names that are not those of classes: columns, and words of categories. */
  private static String otherNames(JsonObject fitted, List<String> classes) {
    List<String> others = new ArrayList<>();
    addNames(fitted, others);
    others.removeAll(classes);
    if (others.isEmpty()) {
      return "";
    }
    String list = String.join(", ", others);
    byte[] bytes = list.getBytes(StandardCharsets.UTF_8);
    return others.size() > MOST_NAMES
        ? " and %s names (hash %s)".formatted(others.size(), text(mix(0, bytes, 0, bytes.length)))
        : " and the names " + list;
  }

  private static void addNames(Object value, List<String> into) {
    if (value instanceof JsonArray list) {
      list.forEach(each -> addNames(each, into));
    } else if (value instanceof JsonObject section) {
      section.forEach(each -> addNames(each.getValue(), into));
    } else if (value instanceof String name) {
      into.add(name);
    }
  }

  /** Returns the names among fitted values, such as those of columns; numbers are left out. */
  private static List<Object> texts(Object value) {
    List<Object> found = new ArrayList<>();
    if (value instanceof JsonArray list) {
      list.forEach(each -> found.addAll(texts(each)));
    } else if (value instanceof JsonObject section) {
      section.forEach(each -> found.add(List.of(each.getKey(), texts(each.getValue()))));
    } else if (value instanceof String name) {
      found.add(name);
    }
    return found;
  }

  /**
   * Returns the fingerprint of one file, which is read whole.
   *
   * @param file the file
   * @return its name, length and hash
   * @throws DataException when it cannot be read
   */
  public static DataFingerprint of(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      FilePart part = FilePart.of(file, file, hash(in));
      return new DataFingerprint("", part.hash(), Optional.empty(), List.of(part));
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(file, e), e);
    }
  }

  /**
   * Returns the hash of all samples, with their shape, the names of their classes and the values
   * {@linkplain Dataset#fitted fitted} to them, read by all cores.
   *
   * @param data the samples
   * @return 64 bits
   */
  public static long hash(Dataset data) {
    long hash = description(data);
    for (Content content : Content.values()) {
      hash = mix(hash, hash(data, content, 0, data.size()));
    }
    return hash;
  }

  /**
   * Returns the hash of some samples, read by all cores.
   *
   * @param data the samples
   * @param content what of a sample
   * @param from index of the first sample
   * @param to index after the last sample
   * @return 64 bits
   */
  public static long hash(Dataset data, Content content, int from, int to) {
    long[] chunks = new long[(to - from + CHUNK - 1) / CHUNK];
    IntStream.range(0, chunks.length)
        .parallel()
        .forEach(chunk -> chunks[chunk] = chunk(data, content, chunk, from, to));
    return mixed(to - from, chunks);
  }

  private static long chunk(Dataset data, Content content, int chunk, int from, int to) {
    int first = from + chunk * CHUNK;
    int next = Math.min(to, first + CHUNK);
    return content == Content.FEATURES && data instanceof ImageDataset images
        ? images.hash(first, next)
        : hash(data, content, IntStream.range(first, next).toArray());
  }

  private static long hash(Dataset data, Content content, int[] indices) {
    Targets targets = data.targets();
    boolean features = content == Content.FEATURES;
    int length = data.shape().stream().reduce(1, Math::multiplyExact);
    float[] values = new float[features ? length : targets.outputs()];
    int[] labels = new int[targets.positions()];
    long hash = 0;
    for (int index : indices) {
      if (features) {
        data.read(index, values, 0);
        hash = mixed(hash, values);
      } else if (targets.kind() == Targets.Kind.CLASS) {
        data.readLabels(index, labels, 0);
        for (int label : labels) {
          hash = mix(hash, label);
        }
      } else {
        data.readTargets(index, values, 0);
        hash = mixed(hash, values);
      }
    }
    return hash;
  }

  /**
   * Returns the hash of the rest of a stream.
   *
   * @param in is read to its end and not closed
   * @return 64 bits
   * @throws IOException when it cannot be read
   */
  public static long hash(InputStream in) throws IOException {
    byte[] buffer = new byte[BUFFER_BYTES];
    long hash = 0;
    for (int read = buffer.length; read == buffer.length; ) {
      read = in.readNBytes(buffer, 0, buffer.length);
      hash = mix(hash, buffer, 0, read);
    }
    return hash;
  }

  /**
   * Combines two hashes; their order counts.
   *
   * @param hash a hash, or any number to begin with
   * @param next another one
   * @return 64 bits
   */
  public static long mix(long hash, long next) {
    long product = (hash ^ next) * FACTOR;
    return product ^ product >>> 32;
  }

  /**
   * Compares this fingerprint, which is expected, with another one.
   *
   * @param found the other one
   * @return what differs, with the counts of both and the first file that differs; empty if they
   *     are those of the same data
   */
  public Optional<String> difference(DataFingerprint found) {
    boolean otherwise =
        complete.isPresent() && found.complete.isPresent() && !complete.equals(found.complete);
    if (counts.equals(found.counts) && hash.equals(found.hash) && !otherwise) {
      return Optional.empty();
    }
    String both = counts.isEmpty() ? "" : "found %s, expected %s".formatted(found.counts, counts);
    for (int i = 0; i < Math.max(files.size(), found.files.size()); i++) {
      Optional<FilePart> there = at(found.files, i);
      Optional<FilePart> here = at(files, i);
      if (!there.map(FilePart::hash).equals(here.map(FilePart::hash))) {
        return Optional.of(
            "%sfound %s, expected %s"
                .formatted(
                    both.isEmpty() ? "" : both + "; the first file that differs: ",
                    there.map(FilePart::describe).orElse("no further file"),
                    here.map(FilePart::describe).orElse("no further file")));
      }
    }
    return Optional.of(
        counts.equals(found.counts) ? both + " with other values or other classes" : both);
  }

  /**
   * Describes the training samples for people, if they were not known before.
   *
   * @param before fingerprints by what they are of
   * @param now the same, and further ones
   * @return such as {@code 400 samples of 2 classes (hash 0123456789abcdef)}; empty if they were
   *     known, or are still unknown
   */
  public static String newTrainingData(
      Map<String, DataFingerprint> before, Map<String, DataFingerprint> now) {
    DataFingerprint data =
        before.containsKey(Split.TRAIN.fingerprint()) ? null : now.get(Split.TRAIN.fingerprint());
    return data == null ? "" : "%s (hash %s)".formatted(data.counts, data.hash);
  }

  /**
   * Compares the fingerprints that both sides have.
   *
   * @param expected fingerprints by what they are of
   * @param found the other side's
   * @return the first one that differs, and in what; empty if none does
   */
  public static Optional<String> firstDifference(
      Map<String, DataFingerprint> expected, Map<String, DataFingerprint> found) {
    return new TreeMap<>(expected)
        .entrySet().stream()
            .filter(one -> found.containsKey(one.getKey()))
            .flatMap(
                one ->
                    one.getValue().difference(found.get(one.getKey())).stream()
                        .map(difference -> one.getKey() + ": " + difference))
            .findFirst();
  }

  private static Optional<FilePart> at(List<FilePart> files, int index) {
    return index < files.size() ? Optional.of(files.get(index)) : Optional.empty();
  }

  /**
   * Writes fingerprints as job files and messages have them.
   *
   * @param fingerprints fingerprints by what they are of
   * @return for each one {@code counts}, {@code hash}, {@code complete}, {@code files} and {@code
   *     samples}
   */
  public static JsonObject json(Map<String, DataFingerprint> fingerprints) {
    JsonObject json = new JsonObject();
    fingerprints.forEach((what, one) -> json.put(what, one.toJson()));
    return json;
  }

  private JsonObject toJson() {
    JsonObject json = new JsonObject();
    if (!counts.isEmpty()) {
      json.put("counts", counts);
    }
    json.put("hash", hash);
    complete.ifPresent(all -> json.put("complete", all));
    if (!files.isEmpty()) {
      JsonArray parts = new JsonArray();
      files.forEach(file -> parts.add(JsonArray.of(file.name(), file.bytes(), file.hash())));
      json.put("files", parts);
    }
    samples.ifPresent(form -> json.put("samples", form.toJson()));
    return json;
  }

  /**
   * Reads what {@link #json} has written.
   *
   * @param json fingerprints by what they are of
   * @return the fingerprints
   * @throws IllegalArgumentException when one is malformed
   */
  public static Map<String, DataFingerprint> all(JsonObject json) {
    Map<String, DataFingerprint> found = new TreeMap<>();
    for (String what : json.fieldNames()) {
      try {
        found.put(what, one(json.getJsonObject(what)));
      } catch (ClassCastException
          | NullPointerException
          | IndexOutOfBoundsException
          | IllegalArgumentException malformed) {
        throw new IllegalArgumentException(
            "fingerprint of %s: found %s, expected counts, hash and files"
                .formatted(what, json.getValue(what)),
            malformed);
      }
    }
    return found;
  }

  private static DataFingerprint one(JsonObject json) {
    List<FilePart> files = new ArrayList<>();
    for (Object part : json.getJsonArray("files", new JsonArray())) {
      JsonArray file = (JsonArray) part;
      files.add(new FilePart(file.getString(0), file.getLong(1), file.getString(2)));
    }
    return new DataFingerprint(
        json.getString("counts", ""),
        Objects.requireNonNull(json.getString("hash")),
        Optional.ofNullable(json.getString("complete")),
        files,
        Optional.ofNullable(json.getJsonObject("samples")).map(Samples::read));
  }

  private static String counts(Dataset data) {
    return data.size() + " samples of " + data.classes() + " " + data.targets().kind().text();
  }

  private static long description(Dataset data) {
    List<Object> all =
        List.of(
            data.size(),
            data.shape(),
            data.targets(),
            data.tokens(),
            data.normalisation(),
            data.classNames(),
            new JsonObject(data.fitted()).encode());
    byte[] bytes = all.toString().getBytes(StandardCharsets.UTF_8);
    return mix(0, bytes, 0, bytes.length);
  }

  /** Adds a range of bytes to a hash. */
  static long mix(long hash, byte[] bytes, int from, int to) {
    long mixed = hash;
    int at = from;
    for (; at + Long.BYTES <= to; at += Long.BYTES) {
      mixed = mix(mixed, (long) WORDS.get(bytes, at));
    }
    for (; at < to; at++) {
      mixed = mix(mixed, bytes[at]);
    }
    return mix(mixed, to - from);
  }

  private static long mixed(long hash, float[] values) {
    long mixed = hash;
    int at = 0;
    for (; at + 2 <= values.length; at += 2) {
      long high = (long) Float.floatToRawIntBits(values[at]) << Integer.SIZE;
      mixed = mix(mixed, high | Float.floatToRawIntBits(values[at + 1]) & 0xFFFFFFFFL);
    }
    return at < values.length ? mix(mixed, Float.floatToRawIntBits(values[at])) : mixed;
  }

  private static long mixed(long hash, long[] words) {
    long mixed = hash;
    for (long word : words) {
      mixed = mix(mixed, word);
    }
    return mixed;
  }

  private static String text(long hash) {
    return HexFormat.of().toHexDigits(hash);
  }
}
