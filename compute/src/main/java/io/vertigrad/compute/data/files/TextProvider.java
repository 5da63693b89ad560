package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.Augmentations;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.Tokenizer;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Opens {@code text}: windows of the tokens of one file, of {@code train.txt} and {@code test.txt},
 * or of all {@code .txt} and {@code .md} files of a folder. If one text has both splits, its last
 * part is the test set.
 *
 * <p>Options: {@code length} (tokens of a window; 64), {@code predict} ({@code next}, the token
 * after the window, or {@code each}, at every position the token after it), {@code stride} (from
 * one window to the next; 1, with {@code each} the length), {@code vocabulary} (a file with one
 * token on each line; without it tokens are bytes), {@code unknown} (the token for words that are
 * not in the vocabulary; {@code <unk>}), {@code testShare} (0.1), {@code train} and {@code test}
 * (most windows to use).
 */
public final class TextProvider implements DatasetProvider {

  private static final int BYTES = 256;
  private static final int MOST_LENGTH = 1 << 16;
  private static final int MOST_BYTES = Integer.MAX_VALUE - 8;
  private static final List<String> ENDINGS = List.of(".txt", ".md", ".txt.gz", ".md.gz");
  private static final String ADVICE =
      "name a file, or a folder with train.txt and test.txt or other .txt or .md files, with --data";

  /** The values of the options. */
  private record Options(
      int length,
      boolean each,
      int stride,
      Optional<Path> vocabulary,
      String unknown,
      double testShare,
      int most) {

    static Options read(DataConfig config, Split split) {
      Settings options = config.settings();
      int length = options.integer("length", 64, 1, MOST_LENGTH);
      boolean each = options.choice("predict", "next", "next", "each").equals("each");
      int stride = options.integer("stride", each ? length : 1, 1, Integer.MAX_VALUE);
      Optional<Path> vocabulary = options.path("vocabulary");
      String unknown = options.string("unknown", "<unk>");
      double testShare = options.number("testShare", 0.1, 0.001, 0.999);
      int train = options.integer("train", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      int test = options.integer("test", Integer.MAX_VALUE, 1, Integer.MAX_VALUE);
      if (config.options().containsKey("normalization")) {
        throw options.refuse(
            "normalization", "is for images kept as bytes; the samples of a text are ids");
      }
      Augmentations.check(options);
      options.refuseUnknown();
      return new Options(
          length,
          each,
          stride,
          vocabulary,
          unknown,
          testShare,
          split == Split.TRAIN ? train : test);
    }
  }

  /**
   * The tokens of some files, one after the other.
   *
   * @param bytes the tokens if they are bytes; empty otherwise
   * @param ids the tokens if they are words; empty otherwise
   * @param words the word of each id, if tokens are words
   */
  private record Tokens(byte[] bytes, int[] ids, List<String> words) {

    static Tokens read(Options options, List<Path> files) {
      if (options.vocabulary().isEmpty()) {
        return new Tokens(bytes(files), new int[0], List.of());
      }
      Vocabulary vocabulary = Vocabulary.read(options.vocabulary().get(), options.unknown());
      int[] ids = files.stream().map(vocabulary::tokens).flatMapToInt(IntStream::of).toArray();
      return new Tokens(new byte[0], ids, vocabulary.words());
    }

    private static byte[] bytes(List<Path> files) {
      if (files.size() == 1) {
        return bytes(files.get(0));
      }
      ByteArrayOutputStream all = new ByteArrayOutputStream();
      files.forEach(file -> all.writeBytes(bytes(file)));
      return all.toByteArray();
    }

    private static byte[] bytes(Path path) {
      try (DataFile file = DataFile.open(path)) {
        return file.readAll(MOST_BYTES);
      }
    }

    int count() {
      return bytes.length + ids.length;
    }

    TextDataset windows(int first, int size, int length, int stride, boolean each) {
      int different = words.isEmpty() ? BYTES : words.size();
      return new TextDataset(bytes, ids, words, first, size, length, stride, different, each);
    }
  }

  /** Tokens that are the bytes of a text in UTF-8. */
  private record Bytes() implements Tokenizer {

    @Override
    public int size() {
      return BYTES;
    }

    @Override
    public int[] tokens(String origin, String text) {
      byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
      return IntStream.range(0, bytes.length).map(i -> bytes[i] & 0xFF).toArray();
    }

    @Override
    public byte[] bytes(int id, boolean first) {
      return new byte[] {(byte) id};
    }
  }

  /**
   * The files with the text of a split.
   *
   * @param files the files, read one after the other
   * @param shared true if they contain both splits
   */
  private record Source(List<Path> files, boolean shared) {

    static Source of(DataConfig config, Split split) {
      Path root =
          config
              .directory()
              .orElseThrow(
                  () -> new DataException("data set 'text' has nothing to read from; " + ADVICE));
      if (Files.isRegularFile(root)) {
        return new Source(List.of(root), true);
      }
      DataFolder folder = DataFolder.of(config, List.of(), ADVICE);
      if (folder.find("train.txt").isPresent() || folder.find("test.txt").isPresent()) {
        String name = split == Split.TRAIN ? "train.txt" : "test.txt";
        Path file =
            folder
                .find(name)
                .orElseThrow(
                    () ->
                        new DataException(
                            "%s: has no %s or %s.gz, but the other of train.txt and test.txt; expected both or none; %s"
                                .formatted(root, name, name, ADVICE)));
        return new Source(List.of(file), false);
      }
      return new Source(listed(root), true);
    }

    private static List<Path> listed(Path root) {
      try (Stream<Path> files = Files.list(root)) {
        List<Path> found =
            files
                .filter(file -> ENDINGS.stream().anyMatch(file.toString()::endsWith))
                .filter(Files::isRegularFile)
                .sorted()
                .toList();
        if (found.isEmpty()) {
          throw new DataException("%s: has no .txt or .md file; %s".formatted(root, ADVICE));
        }
        return found;
      } catch (IOException e) {
        throw DataFile.failure(root, e);
      }
    }
  }

  @Override
  public String name() {
    return "text";
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(Targets.Kind.CLASS);
  }

  @Override
  public void scopes(Settings data) {
    data.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).has("vocabulary");
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Options options = Options.read(config, split);
    Source source = Source.of(config, split);
    return windows(options, source, split, Tokens.read(options, source.files()));
  }

  /** Returns one sample: the last tokens of the file, as many as the model's input has. */
  @Override
  public Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    Options options = Options.read(config, Split.TEST);
    Tokens tokens = Tokens.read(options, List.of(file));
    int length = shape.get(0);
    if (tokens.count() < length) {
      throw new DataException(
          "%s: has %s tokens, expected at least the %s that the model takes (data.length)"
              .formatted(file, tokens.count(), length));
    }
    return tokens.windows(tokens.count() - length, 1, length, 1, options.each());
  }

  @Override
  public Optional<Tokenizer> tokenizer(DataConfig config) {
    Options options = Options.read(config, Split.TEST);
    return Optional.of(
        options.vocabulary().isEmpty()
            ? new Bytes()
            : Vocabulary.read(options.vocabulary().get(), options.unknown()));
  }

  @Override
  public void check(DataConfig config, Split split) {
    Options options = Options.read(config, split);
    Source.of(config, split);
    options
        .vocabulary()
        .filter(file -> !Files.isRegularFile(file))
        .ifPresent(
            file -> {
              throw new DataException(
                  "%s: there is no such file, expected a vocabulary, one token on each line (data.vocabulary)"
                      .formatted(file));
            });
  }

  /** Hashes the content of the files, because windows overlap. */
  @Override
  public Optional<DataFingerprint> fingerprint(DataConfig config, Split split, Dataset opened) {
    List<Path> files = new ArrayList<>(Source.of(config, split).files());
    Options.read(config, split).vocabulary().ifPresent(files::add);
    List<FilePart> parts = files.stream().map(TextProvider::part).toList();
    return Optional.of(DataFingerprint.of(opened, parts));
  }

  private static FilePart part(Path path) {
    try (DataFile file = DataFile.open(path)) {
      return FilePart.of(path, path, DataFingerprint.hash(file.stream()));
    } catch (IOException e) {
      throw DataFile.failure(path, e);
    }
  }

  private static Dataset windows(Options options, Source source, Split split, Tokens tokens) {
    int all = tokens.count();
    int border = source.shared() ? (int) (all * (1 - options.testShare())) : all;
    boolean atTheEnd = source.shared() && split == Split.TEST;
    int first = atTheEnd ? border : 0;
    int count = atTheEnd ? all - border : border;
    String where = source.files().size() == 1 ? source.files().get(0).toString() : folder(source);
    if (count <= options.length()) {
      throw new DataException(
          "%s: the %s part has %s of %s tokens, expected at least %s: a window of %s (data.length) and the token after it%s"
              .formatted(
                  where,
                  split == Split.TEST ? "test" : "training",
                  count,
                  all,
                  options.length() + 1,
                  options.length(),
                  source.shared() ? "; data.testShare says how much is for testing" : ""));
    }
    int windows = (count - options.length() - 1) / options.stride() + 1;
    return tokens.windows(
        first,
        Math.min(windows, options.most()),
        options.length(),
        options.stride(),
        options.each());
  }

  private static String folder(Source source) {
    return "%s (%s files)".formatted(source.files().get(0).getParent(), source.files().size());
  }
}
