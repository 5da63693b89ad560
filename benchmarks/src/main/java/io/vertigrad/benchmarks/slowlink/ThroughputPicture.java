package io.vertigrad.benchmarks.slowlink;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * A picture of samples a second by the rate of the link, both on logarithmic axes.
 *
 * @param throughputs samples a second by Mbit/s, for each case
 */
record ThroughputPicture(Map<String, Map<Integer, Double>> throughputs) {

  private static final int LEFT = 70;
  private static final int TOP = 20;
  private static final int WIDTH = 420;
  private static final int HEIGHT = 320;
  private static final int LEGEND = LEFT + WIDTH + 20;
  private static final int LINE = 18;
  private static final List<String> COLOURS =
      List.of(
          "#1f4e9c", "#c2410c", "#15803d", "#7c3aed", "#b45309", "#0e7490", "#be123c", "#4d7c0f",
          "#6b7280", "#a21caf", "#0369a1", "#111827", "#ca8a04", "#db2777", "#065f46");

  /** Returns the picture as a document. */
  String svg() {
    double least = decade(Math.floor(Math.log10(Math.max(1, extreme(false)))));
    double most = decade(Math.ceil(Math.log10(Math.max(10, extreme(true)))));
    StringBuilder svg = new StringBuilder();
    svg.append(
        text(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\""
                + " font-family=\"system-ui, sans-serif\" font-size=\"12\">%n",
            LEGEND + 200, TOP + HEIGHT + 50));
    svg.append(text("<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>%n"));
    for (double y = least; y <= most; y *= 10) {
      int at = y(y, least, most);
      svg.append(line(LEFT, at, LEFT + WIDTH, at));
      svg.append(label(LEFT - 8, at + 4, "end", text("%,.0f", y)));
    }
    for (int megabits : SlowLinkBenchmark.MEGABITS) {
      svg.append(line(x(megabits), TOP, x(megabits), TOP + HEIGHT));
      svg.append(label(x(megabits), TOP + HEIGHT + 18, "middle", text("%,d Mbit/s", megabits)));
    }
    svg.append(label(LEFT, TOP + HEIGHT + 40, "start", "samples a second of two workers"));
    List<String> names = new ArrayList<>(throughputs.keySet());
    for (int i = 0; i < names.size(); i++) {
      svg.append(curve(names.get(i), i, least, most));
    }
    return svg.append("</svg>\n").toString();
  }

  private String curve(String name, int index, double least, double most) {
    String colour = COLOURS.get(index % COLOURS.size());
    StringBuilder points = new StringBuilder();
    StringBuilder marks = new StringBuilder();
    throughputs
        .get(name)
        .forEach(
            (megabits, samples) -> {
              int x = x(megabits);
              int y = y(samples, least, most);
              points.append(x).append(',').append(y).append(' ');
              marks.append(
                  text("<circle cx=\"%d\" cy=\"%d\" r=\"3\" fill=\"%s\"/>%n", x, y, colour));
            });
    int row = TOP + 12 + index * LINE;
    return text(
            "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>%n",
            points.toString().strip(), colour)
        + marks
        + text(
            "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"4\" fill=\"%s\"/>%n",
            LEGEND, row - 6, colour)
        + label(LEGEND + 18, row, "start", name);
  }

  private static String line(int x, int y, int toX, int toY) {
    return text(
        "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#d5d9e4\"/>%n", x, y, toX, toY);
  }

  private static String label(int x, int y, String anchor, String words) {
    return text(
        "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" fill=\"#1d2540\">%s</text>%n",
        x, y, anchor, words);
  }

  private static int x(int megabits) {
    double decades = Math.log10(megabits) - 1;
    return LEFT + 30 + (int) Math.round(decades / 3 * (WIDTH - 60));
  }

  private static int y(double samples, double least, double most) {
    double share = Math.log(Math.max(samples, least) / least) / Math.log(most / least);
    return TOP + HEIGHT - (int) Math.round(share * HEIGHT);
  }

  private static double decade(double exponent) {
    return Math.pow(10, exponent);
  }

  private double extreme(boolean largest) {
    return throughputs.values().stream()
        .flatMap(rates -> rates.values().stream())
        .reduce(largest ? Math::max : Math::min)
        .orElse(1.0);
  }

  private static String text(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
