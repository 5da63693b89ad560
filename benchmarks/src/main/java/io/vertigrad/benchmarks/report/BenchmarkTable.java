package io.vertigrad.benchmarks.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Formats rows as aligned text: names to the left, numbers to the right. */
public final class BenchmarkTable {

  private static final List<String> HEADINGS =
      List.of("what", "unit", "median", "min", "max", "n", "ratio", "over", "aim");
  private static final List<Boolean> TO_THE_RIGHT =
      List.of(false, false, true, true, true, true, true, false, false);

  private final List<List<String>> lines = new ArrayList<>();

  BenchmarkTable(List<BenchmarkRow> rows) {
    lines.add(HEADINGS);
    rows.forEach(row -> lines.add(cells(row)));
  }

  @Override
  public String toString() {
    int[] widths = new int[HEADINGS.size()];
    for (List<String> line : lines) {
      for (int i = 0; i < widths.length; i++) {
        widths[i] = Math.max(widths[i], line.get(i).length());
      }
    }
    StringBuilder text = new StringBuilder();
    for (List<String> line : lines) {
      StringBuilder one = new StringBuilder();
      for (int i = 0; i < widths.length; i++) {
        String blank = " ".repeat(widths[i] - line.get(i).length());
        one.append(TO_THE_RIGHT.get(i) ? blank + line.get(i) : line.get(i) + blank).append("  ");
      }
      text.append(one.toString().stripTrailing()).append(System.lineSeparator());
    }
    return text.toString();
  }

  private static List<String> cells(BenchmarkRow row) {
    Repetitions measured = row.measured();
    return List.of(
        row.name(),
        row.unit(),
        number(measured.median()),
        number(measured.min()),
        number(measured.max()),
        String.valueOf(measured.count()),
        row.ratio().isPresent()
            ? String.format(Locale.ROOT, "%.3f", row.ratio().getAsDouble())
            : "",
        row.over(),
        row.aim());
  }

  /** Formats a number with three or four significant digits, thousands separated. */
  public static String number(double value) {
    double size = Math.abs(value);
    String pattern = size >= 100 ? "%,.0f" : size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.4f";
    return String.format(Locale.ROOT, pattern, value);
  }
}
