package io.vertigrad.benchmarks.marginal;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Another program's milliseconds per round, measured elsewhere.
 *
 * <p>The file has a line {@code MODEL,STRATEGY,WALL,CPU} for each exchange, such as {@code
 * mlp,sync,6.7,11.0}; empty lines and lines that start with {@code #} are skipped.
 *
 * @param rounds times by {@code MODEL, STRATEGY}
 */
record PeerFigures(Map<String, Round> rounds) {

  static final PeerFigures NONE = new PeerFigures(Map.of());

  private static final int COLUMNS = 4;

  /**
   * The time of one round.
   *
   * @param wallMillis elapsed time
   * @param cpuMillis processor time, user and system, of all processes together
   */
  record Round(double wallMillis, double cpuMillis) {}

  PeerFigures {
    rounds = Map.copyOf(rounds);
  }

  /**
   * Reads a file.
   *
   * @throws IllegalArgumentException naming the invalid line
   */
  static PeerFigures read(Path file) throws IOException {
    Map<String, Round> rounds = new HashMap<>();
    List<String> lines = Files.readAllLines(file);
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i).strip();
      if (!line.isEmpty() && !line.startsWith("#")) {
        String[] columns = line.split("\\s*,\\s*", -1);
        rounds.put(
            columns[0] + ", " + (columns.length > 1 ? columns[1] : ""),
            round(file, i + 1, columns));
      }
    }
    return new PeerFigures(rounds);
  }

  Optional<Round> of(String exchange) {
    return Optional.ofNullable(rounds.get(exchange));
  }

  private static Round round(Path file, int line, String[] columns) {
    try {
      if (columns.length == COLUMNS) {
        return new Round(Double.parseDouble(columns[2]), Double.parseDouble(columns[3]));
      }
    } catch (NumberFormatException notNumbers) {
      // The error below reports it like any other invalid line.
    }
    throw new IllegalArgumentException(
        "%s: line %s: found '%s', expected MODEL,STRATEGY,WALL,CPU in milliseconds per round"
            .formatted(file, line, String.join(",", columns)));
  }
}
