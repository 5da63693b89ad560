package io.vertigrad.examples;

import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares a printed line with a README's line. Words, steps, versions and counts must be equal;
 * values that depend on the clock need only the same form.
 */
final class ReadmeLine {

  /** Tolerance of an accuracy with other kernels, in percentage points. */
  static final double ACCURACY_POINTS = 2;

  /** Relative tolerance of a loss with other kernels. */
  static final double LOSS_SHARE = 0.03;

  /**
   * Tolerance of an accuracy that is mostly chance, in percentage points: a broken worker moves the
   * plain mean at random.
   */
  static final double LUCK_POINTS = 60;

  private static final Pattern NUMBER = Pattern.compile("\\d+(,\\d{3})*(\\.\\d+)?");

  /** Text that differs between any two runs. */
  private static final Pattern CLOCK =
      Pattern.compile("(?<=runs/)\\d{8}-\\d{6}|(?<= samples in ).*$|^ +[\\d,]+ samples/s");

  private static final Pattern HASH = Pattern.compile("(?<=\"parametersHash\" : \")[0-9a-f]{16}");
  private static final Pattern RESULT =
      Pattern.compile(
          "(?<accuracy>accuracy\"? *:? *|^trimmed-mean +)|(?<loss>loss\"? *:? *)|(?<luck>^sync +)");

  private ReadmeLine() {}

  /**
   * Returns the line with {@code N} for every number, and placeholders for hashes and times of day.
   */
  static String form(String line) {
    String shaped = HASH.matcher(line).replaceAll("HASH");
    return NUMBER.matcher(shaped.replaceAll("runs/\\d{8}-\\d{6}", "runs/TIME")).replaceAll("N");
  }

  /**
   * Returns how a printed line differs; empty when it does not.
   *
   * @param exact false when accuracies and losses may differ by the tolerances and hashes are
   *     ignored
   */
  static Optional<String> difference(String readme, String printed, boolean exact) {
    if (!squeezed(form(readme)).equals(squeezed(form(printed)))) {
      return Optional.of("README '%s', printed '%s'".formatted(readme, printed));
    }
    String expected = timeless(readme);
    String found = timeless(printed);
    if (exact || expected.equals(found)) {
      return expected.equals(found)
          ? Optional.empty()
          : Optional.of("README '%s', printed '%s'".formatted(readme, printed));
    }
    List<MatchResult> wanted = numbers(expected);
    List<MatchResult> got = numbers(found);
    for (int i = 0; i < wanted.size(); i++) {
      double difference = Math.abs(value(wanted.get(i)) - value(got.get(i)));
      double tolerance = tolerance(expected.substring(0, wanted.get(i).start()), wanted.get(i));
      if (difference > tolerance) {
        return Optional.of(
            "README '%s', printed '%s': %s and %s differ by more than %.4f"
                .formatted(readme, printed, wanted.get(i).group(), got.get(i).group(), tolerance));
      }
    }
    return Optional.empty();
  }

  private static double tolerance(String before, MatchResult number) {
    Matcher result = RESULT.matcher(before);
    while (result.find()) {
      if (result.end() == before.length()) {
        return result.group("accuracy") != null
            ? ACCURACY_POINTS
            : result.group("luck") != null ? LUCK_POINTS : LOSS_SHARE * value(number);
      }
    }
    return 0;
  }

  /** Removes extra spaces, because column widths depend on the numbers. */
  private static String squeezed(String line) {
    return line.replaceAll("(?<=\\S) +", " ");
  }

  private static String timeless(String line) {
    return CLOCK.matcher(line).replaceAll("");
  }

  private static List<MatchResult> numbers(String line) {
    return NUMBER.matcher(HASH.matcher(line).replaceAll("")).results().toList();
  }

  private static double value(MatchResult number) {
    return Double.parseDouble(number.group().replace(",", ""));
  }
}
