package io.vertigrad.benchmarks.cells;

import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Other programs that are measured beside cells.
 *
 * @param file where they are listed; its folder is the commands' working directory
 * @param commands shell commands by the name of a cell, or by the beginning of the names of several
 *     up to a comma
 */
record PeerCommands(Path file, Map<String, String> commands) {

  static final PeerCommands NONE = new PeerCommands(Path.of(""), Map.of());

  private static final long LIMIT_MINUTES = 30;

  PeerCommands {
    commands = Map.copyOf(commands);
  }

  /**
   * Reads a file.
   *
   * @param cells the names of all cells
   * @throws IllegalArgumentException naming the file, the entry, what was found and expected
   */
  static PeerCommands read(Path file, List<String> cells) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException("--peer %s: found no such file".formatted(file));
    }
    JsonObject json;
    try {
      json = new JsonObject(Files.readString(file));
    } catch (DecodeException e) {
      throw new IllegalArgumentException(
          "%s: expected a JSON object: %s".formatted(file, firstLine(e.getMessage())), e);
    }
    Map<String, String> commands = new LinkedHashMap<>();
    for (String key : json.fieldNames()) {
      if (cells.stream().noneMatch(cell -> Cell.isNamedBy(key, cell))) {
        throw new IllegalArgumentException(
            "%s: found \"%s\", expected a cell's name or its beginning up to a comma: %s"
                .formatted(file, key, String.join("; ", cells)));
      }
      if (!(json.getValue(key) instanceof String command) || command.isBlank()) {
        throw new IllegalArgumentException(
            "%s: \"%s\": found %s, expected a shell command"
                .formatted(file, key, new JsonObject().put("", json.getValue(key)).getValue("")));
      }
      commands.put(key, command);
    }
    return new PeerCommands(file, commands);
  }

  /** Returns the longest key that names a cell. */
  Optional<String> keyOf(String cell) {
    return commands.keySet().stream()
        .filter(key -> Cell.isNamedBy(key, cell))
        .max(Comparator.comparingInt(String::length));
  }

  /**
   * Runs a command and reads what it prints.
   *
   * @param figures those that it may print
   * @param rounds how many rounds are measured; the variable {@code ROUNDS}
   * @param python the variable {@code PYTHON}; empty for that of this process
   */
  Map<Figure, Double> measure(String key, List<Figure> figures, int rounds, String python)
      throws IOException, InterruptedException {
    Path output = Files.createTempFile("vertigrad-benchmark-", ".peer");
    try {
      ProcessBuilder command = new ProcessBuilder("sh", "-c", commands.get(key));
      command.environment().put("ROUNDS", Integer.toString(rounds));
      if (!python.isEmpty()) {
        command.environment().put("PYTHON", python);
      }
      Process process =
          command
              .directory(file.toAbsolutePath().getParent().toFile())
              .redirectOutput(output.toFile())
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES)) {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        throw new IllegalStateException(
            "%s: \"%s\": expected an end within %s minutes".formatted(file, key, LIMIT_MINUTES));
      }
      if (process.exitValue() != 0) {
        throw new IllegalStateException(
            "%s: \"%s\": found exit code %s, expected 0".formatted(file, key, process.exitValue()));
      }
      return figures("%s: \"%s\"".formatted(file, key), Files.readString(output).strip(), figures);
    } finally {
      Files.delete(output);
    }
  }

  /**
   * Returns the figures that a command printed.
   *
   * @throws IllegalStateException unless it is a JSON object of at least one of these figures
   */
  private static Map<Figure, Double> figures(String where, String printed, List<Figure> expected) {
    Map<Figure, Double> found = new LinkedHashMap<>();
    try {
      for (Map.Entry<String, Object> entry : new JsonObject(printed)) {
        Optional<Figure> figure = Figure.of(entry.getKey()).filter(expected::contains);
        if (figure.isEmpty() || !(entry.getValue() instanceof Number value) || !isTime(value)) {
          throw unexpected(where, printed, expected);
        }
        found.put(figure.get(), value.doubleValue());
      }
    } catch (DecodeException e) {
      throw unexpected(where, printed, expected);
    }
    if (found.isEmpty()) {
      throw unexpected(where, printed, expected);
    }
    return found;
  }

  private static boolean isTime(Number value) {
    return value.doubleValue() > 0 && Double.isFinite(value.doubleValue());
  }

  private static IllegalStateException unexpected(
      String where, String printed, List<Figure> expected) {
    return new IllegalStateException(
        "%s: printed '%s', expected a JSON object of one or more of %s, each above 0"
            .formatted(where, firstLine(printed), Figure.keys(expected)));
  }

  private static String firstLine(String text) {
    return text.lines().findFirst().orElse("");
  }
}
