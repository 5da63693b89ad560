package io.vertigrad.benchmarks.jmh;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.GradientPartition;
import org.junit.jupiter.api.Test;

/** Tests that each JMH method does what its name says. */
class JmhBenchmarkTest {

  @Test
  void shouldApplyRoundAfterRound() {
    RoundBenchmark round = new RoundBenchmark();
    round.prepare();

    for (int version = 1; version <= 3; version++) {
      assertEquals(version, round.syncRound());
    }
  }

  @Test
  void shouldDecodeAnEncodedFrame() {
    FrameBenchmark frame = new FrameBenchmark();
    frame.prepare();

    GradientPartition gradient = assertInstanceOf(GradientPartition.class, frame.decode());

    assertEquals(frame.makeTensor(), gradient.gradient());
    assertTrue(frame.isFinite());
  }

  @Test
  void shouldAddTheElementsThatItReports() {
    FrameBenchmark frame = new FrameBenchmark();
    frame.prepare();
    float[] expected = FullFrame.values(1);
    for (int i = 0; i < expected.length; i++) {
      expected[i] *= 0.5f;
    }

    assertArrayEquals(expected, frame.addFloat32());
    assertArrayEquals(FullFrame.values(1), frame.arrayCopy());
  }
}
