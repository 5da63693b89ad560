package io.vertigrad.compute.data.digits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.SplitMix64;
import java.util.List;
import org.junit.jupiter.api.Test;

class GlyphTest {

  @Test
  void shouldPassThroughEveryKnotWithoutDistortion() {
    Glyph glyph = Glyph.parse("10 20, 50 80, 90 20; 0 0, 100 100");

    List<Polyline> lines = glyph.trace(new SplitMix64(1), 0);

    assertEquals(2, lines.size());
    assertPoint(lines.get(0), 0, 0.1, 0.2);
    assertPoint(lines.get(0), 7, 0.5, 0.8);
    assertPoint(lines.get(0), 14, 0.9, 0.2);
    assertPoint(lines.get(1), 7, 1, 1);
  }

  @Test
  void shouldRoundAKnotButKeepACornerSharp() {
    Polyline round = Glyph.parse("0 0, 50 0, 50 50").trace(new SplitMix64(1), 0).get(0);
    Polyline sharp = Glyph.parse("0 0, 50 0!, 50 50").trace(new SplitMix64(1), 0).get(0);

    assertTrue(round.y[5] < -0.01, "a round knot is approached from outside: " + round.y[5]);
    for (int i = 0; i <= 7; i++) {
      assertEquals(0, sharp.y[i], 1e-12);
      assertEquals(0.5, sharp.x[7 + i], 1e-12);
    }
  }

  @Test
  void shouldStayWithinTheImageAroundItsCentreWhenWarped() {
    for (int seed = 0; seed < 500; seed++) {
      SplitMix64 random = new SplitMix64(seed);
      List<Glyph> styles = Handwriting.styles(seed % Handwriting.digits());
      List<Polyline> lines = styles.get(0).trace(random, 0.03);

      new Warp(random).apply(lines, 13.5);

      for (Polyline line : lines) {
        for (int i = 0; i < line.length(); i++) {
          // The bounds are half the height of the tallest digit, plus slant, waves and shift.
          assertEquals(13.5, line.x[i], 20);
          assertEquals(13.5, line.y[i], 17);
        }
      }
    }
  }

  private static void assertPoint(Polyline line, int i, double x, double y) {
    assertEquals(x, line.x[i], 1e-12);
    assertEquals(y, line.y[i], 1e-12);
  }
}
