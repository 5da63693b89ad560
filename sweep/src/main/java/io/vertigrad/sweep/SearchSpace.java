package io.vertigrad.sweep;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.Json;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The settings that a sweep tries: for each key of the job file a list of values, or a range of
 * numbers. Immutable.
 */
public final class SearchSpace {

  /** Most trials of a sweep. */
  public static final int MOST_TRIALS = 10_000;

  /** Points of a range in a grid, unless its text says how many. */
  private static final int POINTS = 3;

  /** A range whose ends are this factor apart is divided, and drawn from, by factors. */
  private static final double LOGARITHMIC = 10;

  /** Significant digits of a value that was computed. */
  private static final MathContext DIGITS = new MathContext(4);

  private static final Pattern RANGE = Pattern.compile("([^/\\\\]+?)\\.\\.([^/\\\\]+?)(?:/(.*))?");
  private static final Pattern WHOLE = Pattern.compile("[+-]?\\d{1,18}");

  private final Map<String, Dimension> dimensions;

  /** One key and what it may be. */
  private sealed interface Dimension permits Choice, Range {

    /** Returns the values of a grid, in order. */
    List<Object> points();

    /** Returns a value drawn at random. */
    Object draw(SplittableRandom random);
  }

  /** A list of values. */
  private record Choice(List<Object> points) implements Dimension {

    @Override
    public Object draw(SplittableRandom random) {
      return points.get(random.nextInt(points.size()));
    }
  }

  /** A range of numbers, both ends included; its whole numbers only where both ends are whole. */
  private record Range(double low, double high, boolean whole, int count) implements Dimension {

    @Override
    public List<Object> points() {
      Set<Object> points = new LinkedHashSet<>();
      for (int i = 0; i < count; i++) {
        points.add(at((double) i / (count - 1)));
      }
      return List.copyOf(points);
    }

    @Override
    public Object draw(SplittableRandom random) {
      if (whole && !logarithmic()) {
        return random.nextLong((long) low, (long) high + 1);
      }
      return at(random.nextDouble());
    }

    private boolean logarithmic() {
      return low > 0 && high / low >= LOGARITHMIC;
    }

    private Object at(double share) {
      double value = logarithmic() ? low * Math.pow(high / low, share) : low + share * (high - low);
      if (whole) {
        return Math.min((long) high, Math.max((long) low, Math.round(value)));
      }
      double shown = new BigDecimal(value).round(DIGITS).doubleValue();
      return Math.min(high, Math.max(low, shown));
    }
  }

  private SearchSpace(Map<String, Dimension> dimensions) {
    this.dimensions = dimensions;
  }

  /**
   * Reads {@code KEY=VALUE,VALUE...} or {@code KEY=LOW..HIGH}, one text per key. A value is a JSON
   * literal, or a text. A range includes both ends. Where both are whole numbers, so are its
   * values. Where its ends are positive and a factor of 10 or more apart, values are spread evenly
   * on a logarithmic scale, otherwise on a linear one. {@code LOW..HIGH/N} has N points in a grid,
   * others have three.
   *
   * @param texts as a person wrote them
   * @return the space
   * @throws SettingsException naming the text, what was found there and what was expected
   */
  public static SearchSpace parse(List<String> texts) {
    Map<String, Dimension> dimensions = new LinkedHashMap<>();
    for (String text : texts) {
      int equals = text.indexOf('=');
      if (equals < 1) {
        throw new SettingsException(
            "--set %s: expected KEY=VALUE,VALUE... or KEY=LOW..HIGH, such as workers.batch=16,32"
                .formatted(JsonText.shown(text)));
      }
      String key = text.substring(0, equals).strip();
      if (dimensions.put(key, dimension(text, text.substring(equals + 1).strip())) != null) {
        throw new SettingsException(
            "--set %s: %s was given before, expected each key once"
                .formatted(JsonText.shown(text), key));
      }
    }
    return new SearchSpace(dimensions);
  }

  private static Dimension dimension(String text, String values) {
    Matcher range = RANGE.matcher(values);
    if (range.matches() && values.indexOf(',') < 0 && "[{\"".indexOf(values.charAt(0)) < 0) {
      return range(text, range.group(1), range.group(2), range.group(3));
    }
    Set<Object> points = new LinkedHashSet<>();
    for (String value : split(values)) {
      if (value.isEmpty()) {
        throw new SettingsException(
            "--set %s: a value is missing, expected values with commas between them, such as"
                    .formatted(JsonText.shown(text))
                + " workers.batch=16,32");
      }
      if (!points.add(literal(text, value))) {
        throw new SettingsException(
            "--set %s: %s is there twice, expected each value once"
                .formatted(JsonText.shown(text), JsonText.shown(value)));
      }
    }
    return new Choice(List.copyOf(points));
  }

  private static Range range(String text, String first, String last, String points) {
    if (!isNumber(first) || !isNumber(last)) {
      throw new SettingsException(
          "--set %s: %s is not a number, expected LOW..HIGH of numbers, such as 16..128, or a list"
              .formatted(JsonText.shown(text), JsonText.shown(isNumber(first) ? last : first)));
    }
    double low = Double.parseDouble(first);
    double high = Double.parseDouble(last);
    if (!(low < high) || Double.isInfinite(low) || Double.isInfinite(high)) {
      throw new SettingsException(
          "--set %s: expected LOW..HIGH with LOW below HIGH".formatted(JsonText.shown(text)));
    }
    boolean whole = WHOLE.matcher(first).matches() && WHOLE.matcher(last).matches();
    if (points != null && !points.matches("[2-9]|[1-9]\\d{1,3}")) {
      throw new SettingsException(
          "--set %s: found %s points, expected LOW..HIGH/N with N from 2 to 9999"
              .formatted(JsonText.shown(text), JsonText.shown(points)));
    }
    return new Range(low, high, whole, points == null ? POINTS : Integer.parseInt(points));
  }

  private static boolean isNumber(String text) {
    return text.matches("[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d{1,3})?");
  }

  /** Splits at commas that are in no list, section or quoted text. */
  private static List<String> split(String values) {
    List<String> parts = new ArrayList<>();
    int depth = 0;
    boolean quoted = false;
    int start = 0;
    for (int i = 0; i < values.length(); i++) {
      char c = values.charAt(i);
      if (c == '"' && (i == 0 || values.charAt(i - 1) != '\\')) {
        quoted = !quoted;
      } else if (!quoted && (c == '[' || c == '{')) {
        depth++;
      } else if (!quoted && (c == ']' || c == '}')) {
        depth--;
      } else if (!quoted && depth == 0 && c == ',') {
        parts.add(values.substring(start, i).strip());
        start = i + 1;
      }
    }
    parts.add(values.substring(start).strip());
    return parts;
  }

  private static Object literal(String text, String value) {
    try {
      Object literal = JsonText.value("--set " + JsonText.shown(text), value);
      return literal == null ? value : literal;
    } catch (SettingsException plain) {
      if ("[{\"".indexOf(value.charAt(0)) >= 0) {
        throw new SettingsException(
            "--set %s: %s starts like JSON but is not complete; quote it for the shell"
                .formatted(JsonText.shown(text), JsonText.shown(value)),
            plain);
      }
      return value;
    }
  }

  /**
   * Returns the keys that have more than one value.
   *
   * @return in the order of the texts
   */
  public List<String> keys() {
    return dimensions.entrySet().stream()
        .filter(each -> each.getValue().points().size() > 1)
        .map(Map.Entry::getKey)
        .toList();
  }

  /**
   * Returns every combination of the values; of a range some points.
   *
   * @return the settings of each trial, by key; the last key changes fastest
   * @throws SettingsException when they are more than {@value #MOST_TRIALS}
   */
  public List<Map<String, Object>> grid() {
    long count = combinations();
    if (count > MOST_TRIALS) {
      throw new SettingsException(
          "--set: there are %s combinations, expected at most %s; give fewer values, or --trials N"
              .formatted(count, MOST_TRIALS));
    }
    List<Map<String, Object>> all = new ArrayList<>();
    all.add(Map.of());
    for (Map.Entry<String, Dimension> dimension : dimensions.entrySet()) {
      List<Map<String, Object>> longer = new ArrayList<>();
      for (Map<String, Object> one : all) {
        for (Object value : dimension.getValue().points()) {
          Map<String, Object> more = new LinkedHashMap<>(one);
          more.put(dimension.getKey(), value);
          longer.add(more);
        }
      }
      all = longer;
    }
    return all;
  }

  private long combinations() {
    long count = 1;
    for (Dimension dimension : dimensions.values()) {
      count = Math.min(Integer.MAX_VALUE, count * dimension.points().size());
    }
    return count;
  }

  /**
   * Draws settings at random, none of them twice.
   *
   * @param trials how many, from 1
   * @param seed equal seeds give equal settings
   * @return the settings of each trial, by key
   * @throws SettingsException when there are not as many
   */
  public List<Map<String, Object>> random(int trials, long seed) {
    if (trials < 1 || trials > MOST_TRIALS) {
      throw new SettingsException(
          "--trials %s: expected a number from 1 to %s".formatted(trials, MOST_TRIALS));
    }
    boolean lists = dimensions.values().stream().allMatch(Choice.class::isInstance);
    if (lists && trials > combinations()) {
      throw new SettingsException(
          "--trials %s: there are only %s combinations, expected at most as many; leave --trials out"
                  .formatted(trials, combinations())
              + " to try all of them");
    }
    SplittableRandom random = new SplittableRandom(seed);
    Set<Map<String, Object>> drawn = new LinkedHashSet<>();
    // Enough draws for the last combination of a list, too: it is expected after all others.
    long most = 1_000L + 50L * trials * Math.max(1, 64 - Long.numberOfLeadingZeros(trials));
    for (long i = 0; i < most && drawn.size() < trials; i++) {
      Map<String, Object> one = new LinkedHashMap<>();
      dimensions.forEach((key, dimension) -> one.put(key, dimension.draw(random)));
      drawn.add(one);
    }
    if (drawn.size() < trials) {
      throw new SettingsException(
          "--trials %s: only %s different settings were found, expected at most as many trials"
              .formatted(trials, drawn.size()));
    }
    return List.copyOf(drawn);
  }

  /**
   * Returns settings as a person would write them.
   *
   * @param settings by key
   * @return such as {@code optimizer.learningRate=0.03 workers.batch=32}
   */
  public static String text(Map<String, Object> settings) {
    List<String> words = new ArrayList<>();
    settings.forEach(
        (key, value) ->
            words.add(key + "=" + (value instanceof String plain ? plain : Json.encode(value))));
    return String.join(" ", words);
  }
}
