package io.vertigrad.compute.data.files;

import java.text.Normalizer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * Finds words that are different text but look the same, such as ü and u with two dots after it.
 */
final class Confusables {

  private static final int FIRST_BEYOND_ASCII = 0x80;

  private Confusables() {}

  /**
   * Looks for words that look like others, and for words with characters that nobody sees.
   *
   * @param counts words with their numbers of samples, in the order in which they are described
   * @param what name of the samples in the sentences, such as rows
   * @return one part of a sentence for each group of words
   */
  static List<String> describe(Map<String, Long> counts, String what) {
    Map<String, List<String>> alike = new LinkedHashMap<>();
    counts
        .keySet()
        .forEach(word -> alike.computeIfAbsent(seen(word), key -> new ArrayList<>()).add(word));
    List<String> found = new ArrayList<>();
    alike.forEach(
        (seen, words) -> {
          if (words.size() > 1) {
            found.add(
                "%s look alike, but are %s words; write them in one way if they are one"
                    .formatted(
                        words.stream()
                            .map(word -> shown(word, counts.get(word), what))
                            .collect(Collectors.joining(" and ")),
                        words.size()));
          } else if (words.get(0).codePoints().anyMatch(Confusables::isUnseen)) {
            String word = words.get(0);
            found.add(
                "%s has a character that is not seen; remove it if it is not meant"
                    .formatted(shown(word, counts.get(word), what)));
          }
        });
    return found;
  }

  /** Returns whether two words look the same. */
  static boolean areAlike(String one, String other) {
    return seen(one).equals(seen(other));
  }

  /** Returns how a word looks: composed, without what is not seen, each space as a plain one. */
  private static String seen(String word) {
    return Normalizer.normalize(word, Normalizer.Form.NFC)
        .codePoints()
        .filter(code -> !isUnseen(code))
        .map(code -> Character.isSpaceChar(code) ? ' ' : code)
        .collect(StringBuilder::new, StringBuilder::appendCodePoint, StringBuilder::append)
        .toString()
        .strip();
  }

  private static boolean isUnseen(int code) {
    int type = Character.getType(code);
    return type == Character.CONTROL || type == Character.FORMAT;
  }

  private static String shown(String word, long count, String what) {
    String visible =
        word.codePoints()
            .mapToObj(code -> isUnseen(code) ? "\\u%04x".formatted(code) : Character.toString(code))
            .collect(Collectors.joining());
    String beyond =
        word.codePoints()
            .filter(code -> code >= FIRST_BEYOND_ASCII || isUnseen(code))
            .mapToObj("U+%04X"::formatted)
            .collect(Collectors.joining(" "));
    return String.format(
        Locale.ROOT,
        "\"%s\" (%s%,d %s)",
        visible,
        beyond.isEmpty() ? "" : "with " + beyond + "; ",
        count,
        what);
  }
}
