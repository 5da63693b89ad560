package io.vertigrad.benchmarks.cells;

import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;

/**
 * The options of {@code benchmarks/run report}.
 *
 * @param cells a regular expression, found in the names of the cells to measure
 * @param turns how often each cell is measured
 * @param minutes time after which no further cell begins; 0 for no limit
 * @param rounds half of the rounds of a run of {@code marginal}
 * @param quick whether runs are too short to be quoted
 * @param data folder of the MNIST files; empty for none
 * @param peer file of the peer programs; empty for none
 * @param java folder of another Java, for the cells that compare two; empty for none
 * @param threads whether the table has the processor time by kind of thread
 * @param pythons commands that start Python, by version of PyTorch; empty unless peers are measured
 *     with several
 */
record ReportOptions(
    Pattern cells,
    int turns,
    int minutes,
    int rounds,
    boolean quick,
    String data,
    String peer,
    String java,
    boolean threads,
    Map<String, String> pythons) {

  private static final String PREFIX = "vertigrad.benchmarks.";

  /**
   * Reads the properties that {@code benchmarks/run} passes on.
   *
   * @param property returns a system property by its name; null or empty when it is not set
   * @throws IllegalArgumentException naming the option, what was found and what was expected
   */
  static ReportOptions read(UnaryOperator<String> property, boolean quick) {
    ReportOptions unset =
        new ReportOptions(
            Pattern.compile(""), 3, 0, quick ? 500 : 5_000, quick, "", "", "", false, Map.of());
    return read(property, unset);
  }

  /**
   * Reads the properties for a report that goes on: what is not set is as before.
   *
   * @param before the options of the report
   * @throws IllegalArgumentException also when rounds would have another length than before
   */
  static ReportOptions resume(UnaryOperator<String> property, boolean quick, ReportOptions before) {
    ReportOptions options = read(property, before);
    if (quick && !before.quick) {
      throw new IllegalArgumentException("--quick: expected none, as the report was begun");
    }
    if (options.rounds != before.rounds) {
      throw new IllegalArgumentException(
          "--rounds %s: expected %s, as the report was begun"
              .formatted(options.rounds, before.rounds));
    }
    return options;
  }

  static ReportOptions fromJson(JsonObject json) {
    return new ReportOptions(
        Pattern.compile(json.getString("cells")),
        json.getInteger("turns"),
        json.getInteger("minutes", 0),
        json.getInteger("rounds"),
        json.getBoolean("quick"),
        json.getString("data"),
        json.getString("peer"),
        json.getString("java", ""),
        json.getBoolean("threads", false),
        pythons(json.getString("pythons", "")));
  }

  JsonObject toJson() {
    return new JsonObject()
        .put("cells", cells.pattern())
        .put("turns", turns)
        .put("minutes", minutes)
        .put("rounds", rounds)
        .put("quick", quick)
        .put("data", data)
        .put("peer", peer)
        .put("java", java)
        .put("threads", threads)
        .put("pythons", lines(pythons));
  }

  private static ReportOptions read(UnaryOperator<String> property, ReportOptions unset) {
    return new ReportOptions(
        pattern(text(property, "cells", unset.cells.pattern())),
        number(property, "turns", unset.turns),
        number(property, "minutes", unset.minutes),
        number(property, "rounds", unset.rounds),
        unset.quick,
        text(property, "data", unset.data),
        text(property, "peer", unset.peer),
        text(property, "java", unset.java),
        Boolean.parseBoolean(text(property, "threads", Boolean.toString(unset.threads))),
        pythons(text(property, "pythons", lines(unset.pythons))));
  }

  /** Returns commands as lines of a version and a command. */
  private static String lines(Map<String, String> pythons) {
    return pythons.entrySet().stream()
        .map(python -> python.getKey() + " " + python.getValue())
        .collect(Collectors.joining("\n"));
  }

  private static Map<String, String> pythons(String lines) {
    Map<String, String> pythons = new LinkedHashMap<>();
    for (String line : lines.lines().filter(one -> !one.isBlank()).toList()) {
      String version = line.substring(0, line.indexOf(' '));
      String command = line.substring(version.length() + 1);
      String other = pythons.put(version, command);
      if (other != null) {
        throw new IllegalArgumentException(
            "--python %s: found PyTorch %s as of %s, expected another version"
                .formatted(command, version, other));
      }
    }
    return pythons;
  }

  /** Returns an option as it was typed; {@code otherwise} where it is not set. */
  static String text(UnaryOperator<String> property, String name, String otherwise) {
    String found = property.apply(PREFIX + name);
    return found == null || found.isEmpty() ? otherwise : found;
  }

  private static int number(UnaryOperator<String> property, String name, int otherwise) {
    String found = text(property, name, "");
    if (found.isEmpty()) {
      return otherwise;
    }
    try {
      int number = Integer.parseInt(found);
      if (number > 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // The error below reports it.
    }
    throw new IllegalArgumentException(
        "--%s: found '%s', expected a whole number from 1".formatted(name, found));
  }

  private static Pattern pattern(String found) {
    try {
      return Pattern.compile(found);
    } catch (PatternSyntaxException e) {
      throw new IllegalArgumentException(
          "--cells: found '%s', expected a regular expression: %s"
              .formatted(found, e.getDescription()),
          e);
    }
  }
}
