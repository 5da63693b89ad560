package io.vertigrad.compute.data.shapes;

import io.vertigrad.compute.data.SplitMix64;
import java.util.function.Function;

/** The ten classes, in the order of their labels. Each draws itself with random proportions. */
enum Shape {
  DISC(random -> Outline.disc(0, 0, 1)),
  RING(random -> Outline.ring(0.88, random.between(0.12, 0.22))),
  TRIANGLE(random -> Polygon.regular(3, 1.25).shaken(random)),
  SQUARE(random -> Polygon.regular(4, 1.2).shaken(random)),
  PENTAGON(random -> Polygon.regular(5, 1.1).shaken(random)),
  STAR(random -> Polygon.star(5, 1.25, random.between(0.42, 0.56)).shaken(random)),
  CROSS(random -> Polygon.cross(1.1, random.between(0.24, 0.4)).shaken(random)),
  CRESCENT(
      random ->
          Outline.disc(0, 0, 1.05)
              .without(Outline.disc(random.between(0.45, 0.65), 0, random.between(0.75, 0.9)))),
  STRIPES(
      random -> Outline.stripes(random.between(0.42, 0.6), random.uniform()).within(patch(random))),
  CHECKER(
      random ->
          Outline.checker(random.between(0.38, 0.55), random.uniform(), random.uniform())
              .within(patch(random)));

  private final Function<SplitMix64, Outline> pen;

  Shape(Function<SplitMix64, Outline> pen) {
    this.pen = pen;
  }

  /** Returns a new outline about the size of the unit disc, centred on the origin. */
  Outline draw(SplitMix64 random) {
    return pen.apply(random);
  }

  /** Returns the region that a texture is cut out of. Its outline must not reveal the class. */
  private static Outline patch(SplitMix64 random) {
    return random.below(2) == 0
        ? Outline.disc(0, 0, 1.15)
        : Polygon.regular(random.below(3) + 3, 1.3).shaken(random);
  }
}
