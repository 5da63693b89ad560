package io.vertigrad.examples;

import java.util.List;
import java.util.Optional;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Compares a printed line with one of a README: words, steps, versions and counts have to be equal,
 * what depends on the clock only has to look alike.
 */
final class ReadmeLine {

  /** Percentage points by which an accuracy may differ where the kernels do. */
  static final double ACCURACY_POINTS = 2;

  /** Share by which a loss may differ where the kernels do. */
  static final double LOSS_SHARE = 0.03;

  /** The same where a broken worker drives the plain mean about, and where it ends is luck. */
  static final double LUCK_POINTS = 60;

  private static final Pattern NUMBER = Pattern.compile("\\d+(,\\d{3})*(\\.\\d+)?");

  /** What no two runs have in common. */
  private static final Pattern CLOCK =
      Pattern.compile("(?<=runs/)\\d{8}-\\d{6}|(?<= samples in ).*$|^ +[\\d,]+ samples/s");

  private static final Pattern HASH = Pattern.compile("(?<=\"parametersHash\" : \")[0-9a-f]{16}");
  private static final Pattern RESULT =
      Pattern.compile(
          "(?<accuracy>accuracy\"? *:? *|^trimmed-mean +)|(?<loss>loss\"? *:? *)|(?<luck>^sync +)");

  private ReadmeLine() {}

  /** The line with an {@code N} for every number, hash and time of day. */
  static String form(String line) {
    String shaped = HASH.matcher(line).replaceAll("HASH");
    return NUMBER.matcher(shaped.replaceAll("runs/\\d{8}-\\d{6}", "runs/TIME")).replaceAll("N");
  }

  /**
   * Says what is wrong with a printed line; empty when nothing is.
   *
   * @param exact false where accuracies and losses may differ by the tolerances, and hashes wholly
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

  /** Widths of columns depend on the numbers in them. */
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
