package io.vertigrad.compute.data.digits;

import io.vertigrad.compute.data.SplitMix64;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * One way of writing a digit: strokes through a few points, in percent of the digit's box.
 *
 * <p>Notation: points {@code "x y"} separated by commas, y downwards; {@code !} after a point marks
 * a sharp corner; {@code ;} lifts the pen. A stroke is a Catmull-Rom spline through its points
 * (Catmull, Rom: "A class of local interpolating splines", 1974).
 */
record Glyph(List<List<Knot>> strokes) {

  private static final int STEPS = 7;

  /** A point that the pen passes through, with coordinates from 0 to 1. */
  record Knot(double x, double y, boolean corner) {

    static Knot parse(String text) {
      boolean corner = text.endsWith("!");
      String[] numbers = (corner ? text.substring(0, text.length() - 1) : text).split(" ");
      double x = Double.parseDouble(numbers[0]) / 100;
      return new Knot(x, Double.parseDouble(numbers[1]) / 100, corner);
    }

    Knot moved(double dx, double dy) {
      return new Knot(x + dx, y + dy, corner);
    }
  }

  static Glyph parse(String notation) {
    List<List<Knot>> strokes = new ArrayList<>();
    for (String stroke : notation.split("; ")) {
      strokes.add(Arrays.stream(stroke.split(", ")).map(Knot::parse).toList());
    }
    return new Glyph(List.copyOf(strokes));
  }

  /**
   * Returns the strokes as fine polylines. Every point is displaced at random by about {@code
   * wobble}.
   */
  List<Polyline> trace(SplitMix64 random, double wobble) {
    List<Polyline> lines = new ArrayList<>();
    for (List<Knot> stroke : strokes) {
      List<Knot> knots = new ArrayList<>();
      for (Knot knot : stroke) {
        knots.add(knot.moved(wobble * random.normal(), wobble * random.normal()));
      }
      lines.add(spline(knots));
    }
    return lines;
  }

  private static Polyline spline(List<Knot> knots) {
    Polyline line = new Polyline((knots.size() - 1) * STEPS + 1);
    line.add(knots.get(0).x, knots.get(0).y);
    for (int i = 0; i + 1 < knots.size(); i++) {
      Knot from = knots.get(i);
      Knot to = knots.get(i + 1);
      // A corner has no tangent: the spline on each side ends as if its last point came twice.
      Knot before = i == 0 || from.corner ? from : knots.get(i - 1);
      Knot after = i + 2 == knots.size() || to.corner ? to : knots.get(i + 2);
      for (int step = 1; step <= STEPS; step++) {
        double t = (double) step / STEPS;
        line.add(
            between(before.x, from.x, to.x, after.x, t),
            between(before.y, from.y, to.y, after.y, t));
      }
    }
    return line;
  }

  private static double between(double before, double from, double to, double after, double t) {
    double slope = to - before;
    double curve = 2 * before - 5 * from + 4 * to - after;
    double twist = 3 * (from - to) + after - before;
    return from + 0.5 * t * (slope + t * (curve + t * twist));
  }
}
