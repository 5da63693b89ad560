package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Tokenizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A vocabulary: a file with one word on each line. The id of a word is its line number, from 0.
 *
 * <p>A text is split into runs of letters, digits, marks, {@code _} and {@code '}, and into single
 * characters of any other kind. White space only separates. Upper and lower case differ.
 */
final class Vocabulary implements Tokenizer {

  static final int MOST_TOKENS = 1_000_000;
  private static final int MOST_BYTES = 1 << 28;
  private static final int LONGEST_QUOTE = 40;
  private static final Pattern TOKEN = Pattern.compile("[\\p{L}\\p{M}\\p{N}_']+|\\S");

  private final Path file;
  private final List<String> words;
  private final Map<String, Integer> ids;
  private final String unknown;

  private Vocabulary(Path file, List<String> words, Map<String, Integer> ids, String unknown) {
    this.file = file;
    this.words = words;
    this.ids = ids;
    this.unknown = unknown;
  }

  /**
   * Reads a vocabulary.
   *
   * @param unknown the token for words that are not in the vocabulary, if the vocabulary contains
   *     it
   * @throws DataException with the file and the line of the first error
   */
  static Vocabulary read(Path file, String unknown) {
    Map<String, Integer> ids = new HashMap<>();
    List<String> lines = text(file).lines().toList();
    for (int i = 0; i < lines.size(); i++) {
      String token = lines.get(i);
      if (token.isBlank() || token.chars().anyMatch(Character::isWhitespace)) {
        throw new DataException(
            "%s:%s: %s, expected one token without white space on each line"
                .formatted(file, i + 1, token.isBlank() ? "is empty" : "holds " + quoted(token)));
      }
      Integer before = ids.putIfAbsent(token, i);
      if (before != null) {
        throw new DataException(
            "%s:%s: %s is on line %s already, expected each token once"
                .formatted(file, i + 1, quoted(token), before + 1));
      }
      if (ids.size() > MOST_TOKENS) {
        throw new DataException(
            "%s: has more than %s tokens, expected no more".formatted(file, MOST_TOKENS));
      }
    }
    if (ids.size() < 2) {
      throw new DataException(
          "%s: has %s tokens, expected at least 2, one on each line".formatted(file, ids.size()));
    }
    return new Vocabulary(file, lines, ids, unknown);
  }

  /** Returns the tokens, in the order of their ids. */
  List<String> words() {
    return words;
  }

  @Override
  public int size() {
    return words.size();
  }

  /** Returns the tokens of a file's text. */
  int[] tokens(Path source) {
    return tokens(source.toString(), text(source));
  }

  /**
   * Returns the tokens of a text.
   *
   * @throws DataException with origin, line and word when a word is not in the vocabulary, and
   *     there is no token for unknown words
   */
  @Override
  public int[] tokens(String origin, String text) {
    int[] found = new int[Math.max(16, text.length() / 4)];
    int count = 0;
    Integer other = ids.get(unknown);
    for (Matcher next = TOKEN.matcher(text); next.find(); ) {
      Integer id = ids.getOrDefault(next.group(), other);
      if (id == null) {
        throw new DataException(
            "%s:%s: %s is not in %s, which has no token %s either; add one of them there, or name the token that stands for unknown words in option unknown"
                .formatted(
                    origin,
                    1 + text.substring(0, next.start()).chars().filter(c -> c == '\n').count(),
                    quoted(next.group()),
                    file,
                    unknown));
      }
      if (count == found.length) {
        found = Arrays.copyOf(found, Math.multiplyExact(2, count));
      }
      found[count++] = id;
    }
    return Arrays.copyOf(found, count);
  }

  /** Returns a word, after a space unless it is the first. */
  @Override
  public byte[] bytes(int id, boolean first) {
    return ((first ? "" : " ") + words.get(id)).getBytes(StandardCharsets.UTF_8);
  }

  private static String text(Path path) {
    try (DataFile opened = DataFile.open(path)) {
      InputStream bytes = new ByteArrayInputStream(opened.readAll(MOST_BYTES));
      String text = new String(Utf8Input.of(bytes, false).readAllBytes(), StandardCharsets.UTF_8);
      return text.startsWith("\uFEFF") ? text.substring(1) : text;
    } catch (IOException e) {
      throw DataFile.failure(path, e);
    }
  }

  private static String quoted(String text) {
    return '"'
        + (text.length() > LONGEST_QUOTE ? text.substring(0, LONGEST_QUOTE) + "..." : text)
        + '"';
  }
}
