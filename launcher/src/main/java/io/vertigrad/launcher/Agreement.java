package io.vertigrad.launcher;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * How well two programs agree about a model.
 *
 * @param compared one difference for each tensor that both have
 * @param notCompared the tensors that only one has
 * @param tolerance largest difference that counts as agreement
 */
record Agreement(List<Difference> compared, List<NotCompared> notCompared, double tolerance) {

  private static final int WIDEST_NAME = 48;

  /** Most names in one line; JSON has all. */
  private static final int MOST_NAMES = 12;

  /** What a terminal obeys: names of tensors come from another's file. */
  private static final String UNPRINTABLE = "[\\p{Cc}\\p{Cf}]";

  /**
   * The largest difference between the values of two tensors. Where the expected value is larger
   * than 1, it is relative to that.
   *
   * @param tensor its name, such as {@code output}
   * @param largest 0 for equal values; infinite where only one of both is a finite number
   * @param at index of the value with the largest difference; empty for a tensor of one number
   * @param found the value here
   * @param expected the value of the other program
   */
  record Difference(
      String tensor, double largest, List<Integer> at, double found, double expected) {

    /**
     * Compares two tensors.
     *
     * @param found values here
     * @param expected as many values of the other program
     * @param shape of both
     */
    static Difference of(String tensor, List<Integer> shape, float[] found, float[] expected) {
      double largest = -1;
      int at = 0;
      for (int i = 0; i < expected.length; i++) {
        double difference = between(found[i], expected[i]);
        if (difference > largest) {
          largest = difference;
          at = i;
        }
      }
      return expected.length == 0
          ? new Difference(tensor, 0, List.of(), 0, 0)
          : new Difference(tensor, largest, index(shape, at), found[at], expected[at]);
    }

    private static double between(double found, double expected) {
      if (Double.compare(found, expected) == 0) {
        return 0;
      }
      double difference = Math.abs(found - expected) / Math.max(1, Math.abs(expected));
      return Double.isFinite(difference) ? difference : Double.POSITIVE_INFINITY;
    }

    JsonObject toJson() {
      return new JsonObject()
          .put("tensor", tensor)
          .put("difference", finite(largest))
          .put("at", new JsonArray(at))
          .put("found", finite(found))
          .put("expected", finite(expected));
    }

    /** JSON has no infinite numbers. */
    private static Double finite(double value) {
      return Double.isFinite(value) ? value : null;
    }

    private String text() {
      return largest == 0
          ? "equal"
          : format("%.1e at %s: %.8g, expected %.8g", largest, at, found, expected);
    }
  }

  /**
   * A tensor that was not compared.
   *
   * @param tensor its name
   * @param reason why not
   */
  record NotCompared(String tensor, String reason) {}

  /** Copies the lists. */
  Agreement {
    compared = List.copyOf(compared);
    notCompared = List.copyOf(notCompared);
  }

  /** Returns whether all compared tensors are within the tolerance. */
  boolean isWithin() {
    return worst().largest() <= tolerance;
  }

  private Difference worst() {
    return compared.stream().max(Comparator.comparingDouble(Difference::largest)).orElseThrow();
  }

  /** Returns one line for each tensor, and the verdict as the last one. */
  List<String> lines() {
    int width =
        Math.min(
            WIDEST_NAME, compared.stream().mapToInt(one -> one.tensor().length()).max().orElse(0));
    List<String> lines = new ArrayList<>();
    compared.forEach(one -> lines.add(format("  %-" + width + "s  %s", one.tensor(), one.text())));
    Map<String, List<String>> others = new LinkedHashMap<>();
    notCompared.forEach(
        one -> others.computeIfAbsent(one.reason(), key -> new ArrayList<>()).add(one.tensor()));
    others.forEach(
        (reason, names) -> lines.add(format("  not compared: %s: %s", list(names), reason)));
    lines.add(verdict());
    return lines.stream().map(line -> line.replaceAll(UNPRINTABLE, "?")).toList();
  }

  private static String list(List<String> names) {
    int more = names.size() - MOST_NAMES;
    return String.join(", ", names.subList(0, Math.min(MOST_NAMES, names.size())))
        + (more > 0 ? format(" and %,d more", more) : "");
  }

  private String verdict() {
    Difference worst = worst();
    long beyond = compared.stream().filter(one -> one.largest() > tolerance).count();
    if (beyond == 0) {
      return format(
          "it computes the same: largest difference %s%s, tolerance %.1e",
          worst.largest() == 0 ? "0" : format("%.1e", worst.largest()),
          worst.largest() == 0 ? "" : " of " + worst.tensor(),
          tolerance);
    }
    return format(
        "it does not compute the same: %d of %d tensors differ by more than the tolerance %.1e; first %s",
        beyond,
        compared.size(),
        tolerance,
        compared.stream().filter(one -> one.largest() > tolerance).findFirst().get().tensor());
  }

  /** Returns the tensors and the verdict. */
  JsonObject toJson() {
    JsonArray same = new JsonArray();
    compared.forEach(one -> same.add(one.toJson()));
    JsonArray others = new JsonArray();
    notCompared.forEach(
        one -> others.add(JsonObject.of("tensor", one.tensor(), "reason", one.reason())));
    return new JsonObject()
        .put("same", isWithin())
        .put("tolerance", tolerance)
        .put("compared", same)
        .put("notCompared", others);
  }

  /** Returns the index of an element, the last dimension fastest. */
  static List<Integer> index(List<Integer> shape, int element) {
    Integer[] index = new Integer[shape.size()];
    int left = element;
    for (int i = index.length - 1; i >= 0; i--) {
      index[i] = left % shape.get(i);
      left /= shape.get(i);
    }
    return List.of(index);
  }

  private static String format(String pattern, Object... values) {
    return String.format(Locale.ROOT, pattern, values);
  }
}
