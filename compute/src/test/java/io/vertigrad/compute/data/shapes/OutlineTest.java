package io.vertigrad.compute.data.shapes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.SplitMix64;
import org.junit.jupiter.api.Test;

class OutlineTest {

  private static final double EXACT = 1e-12;

  @Test
  void shouldMeasureTheDistanceToRoundEdges() {
    assertEquals(5 - 2, Outline.disc(1, 1, 2).distance(4, 5), EXACT);
    assertEquals(-2, Outline.disc(1, 1, 2).distance(1, 1), EXACT);
    assertEquals(-0.25, Outline.ring(1, 0.25).distance(0, -1), EXACT);
    assertEquals(0.75, Outline.ring(1, 0.25).distance(0, 0), EXACT);
  }

  @Test
  void shouldMeasureTheDistanceToStraightEdges() {
    Outline bar = Outline.bar(2, 0.5, 1);

    assertEquals(-0.5, bar.distance(0, 1), EXACT);
    assertEquals(0.5, bar.distance(0, 2), EXACT);
    assertEquals(1, bar.distance(-3, 1), EXACT);
  }

  @Test
  void shouldAlternateWhenARegionIsPeriodic() {
    Outline stripes = Outline.stripes(2, 0.5);
    Outline checker = Outline.checker(1, 0.5, 0.5);

    assertEquals(-0.5, stripes.distance(0, 9), EXACT);
    assertEquals(0, stripes.distance(0.5, 9), EXACT);
    assertEquals(0.5, stripes.distance(-3, 9), EXACT);
    assertEquals(0.5, checker.distance(0, 0), EXACT);
    assertEquals(-0.5, checker.distance(1, 0), EXACT);
    assertEquals(-0.25, checker.distance(2.25, -3), EXACT);
    assertEquals(0.25, checker.distance(1.25, 1), EXACT);
  }

  @Test
  void shouldCombineRegions() {
    Outline left = Outline.disc(-1, 0, 1.5);
    Outline right = Outline.disc(1, 0, 1.5);

    assertEquals(-0.5, left.within(right).distance(0, 0), EXACT);
    assertEquals(0.5, left.without(right).distance(0, 0), EXACT);
    assertEquals(-1, left.without(right).distance(-1.5, 0), EXACT);
  }

  @Test
  void shouldMeasureTheDistanceToAPolygonsNearestEdgeOrCorner() {
    Polygon square = new Polygon(new double[] {-1, 1, 1, -1}, new double[] {-1, -1, 1, 1});

    assertEquals(-1, square.distance(0, 0), EXACT);
    assertEquals(-0.25, square.distance(0.75, -0.5), EXACT);
    assertEquals(0.5, square.distance(0.3, -1.5), EXACT);
    assertEquals(0.05, square.distance(1.03, 1.04), EXACT);
    assertEquals(5 - StrictMath.sqrt(2), square.distance(3, 4), EXACT, "far away: its circle");
  }

  @Test
  void shouldHaveRegularPolygonsWithTheirInnerRadius() {
    for (int corners = 3; corners <= 5; corners++) {
      Polygon polygon = Polygon.regular(corners, 1);

      assertEquals(-StrictMath.cos(Math.PI / corners), polygon.distance(0, 0), EXACT);
      assertEquals(0, polygon.distance(1, 0), EXACT);
    }
  }

  @Test
  void shouldExcludePointsBetweenTipsAndArms() {
    Polygon star = Polygon.star(5, 1, 0.4);
    Polygon cross = Polygon.cross(1, 0.25);

    assertTrue(star.distance(0.8, 0) < 0);
    assertTrue(star.distance(-0.8, 0) > 0);
    assertEquals(-0.25, cross.distance(0.7, 0), EXACT);
    assertEquals(0.25, cross.distance(0.5, 0.6), EXACT);
    assertEquals(0, cross.distance(0.25, 0.25), EXACT);
  }

  @Test
  void shouldCoverAPartOfTheImageForEveryShapeAndPose() {
    for (Shape shape : Shape.values()) {
      for (int seed = 0; seed < 200; seed++) {
        SplitMix64 random = new SplitMix64(seed);
        Outline outline = shape.draw(random);
        Pose pose = new Pose(random);
        int covered = 0;
        for (int at = 0; at < 32 * 32; at++) {
          covered += pose.distance(outline, at % 32, at / 32) < 0 ? 1 : 0;
        }
        // The range goes from a thin crescent, 60 pixels, to the largest disc, pi * 13^2 = 530,
        // with a margin.
        assertTrue(covered > 40 && covered < 600, shape + " covers " + covered);
      }
    }
  }
}
