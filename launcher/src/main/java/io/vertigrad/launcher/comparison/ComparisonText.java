package io.vertigrad.launcher.comparison;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/** Formats a comparison of runs as lines for a terminal. */
final class ComparisonText {

  private static final Set<Integer> LABELS = Set.of(0);

  private ComparisonText() {}

  /** Returns the lines of the table. */
  static List<String> of(ComparisonTable table) {
    List<List<String>> upper = new ArrayList<>(List.of(table.heading()));
    upper.addAll(table.summaries());
    List<String> lines = lines(upper, LABELS);
    lines.addAll(lines(table.accuracies(), LABELS));
    return lines;
  }

  /**
   * Aligns words to the left and numbers to the right, in columns as wide as needed.
   *
   * @param words the columns of words, from 0
   */
  static List<String> lines(List<List<String>> rows, Set<Integer> words) {
    int columns = rows.stream().mapToInt(List::size).max().orElse(0);
    int[] widths = IntStream.range(0, columns).map(column -> width(rows, column)).toArray();
    List<String> lines = new ArrayList<>();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int c = 0; c < row.size(); c++) {
        String blank = " ".repeat(widths[c] - row.get(c).length());
        line.append(c == 0 ? "" : "  ");
        line.append(words.contains(c) ? row.get(c) + blank : blank + row.get(c));
      }
      lines.add(line.toString().stripTrailing());
    }
    return lines;
  }

  private static int width(List<List<String>> rows, int column) {
    return rows.stream()
        .mapToInt(row -> column < row.size() ? row.get(column).length() : 0)
        .max()
        .orElse(0);
  }
}
