package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Metric;
import io.vertigrad.compute.Targets;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BaselineTest {

  /** Samples of one input, with rows of targets, or of one class. */
  private record Samples(int tokens, Targets targets, float[][] rows) implements Dataset {

    @Override
    public int size() {
      return rows.length;
    }

    @Override
    public List<Integer> shape() {
      return List.of(1);
    }

    @Override
    public int classes() {
      return targets.outputs();
    }

    @Override
    public void read(int index, float[] features, int offset) {
      features[offset] = index;
    }

    @Override
    public int label(int index) {
      return (int) rows[index][0];
    }

    @Override
    public void readLabels(int index, int[] labels, int offset) {
      for (int i = 0; i < rows[index].length; i++) {
        labels[offset + i] = (int) rows[index][i];
      }
    }

    @Override
    public void readTargets(int index, float[] into, int offset) {
      System.arraycopy(rows[index], 0, into, offset, rows[index].length);
    }
  }

  @Test
  void shouldAnswerTheMostFrequentClass() {
    Baseline baseline = of(Targets.classes(3), 2, 1, 2, 2).orElseThrow();

    assertEquals(new Baseline(Metric.ACCURACY, 75, "class 2 always"), baseline);
    assertTrue(baseline.isBeatenBy(75.1));
    assertFalse(baseline.isBeatenBy(75));
    assertFalse(baseline.isBeatenBy(Double.NaN));
  }

  @Test
  void shouldAnswerTheMoreFrequentValueOfEachLabel() {
    assertEquals(75, of(Targets.labels(1), 1, 1, 0, 1).orElseThrow().value(), 1e-9);
    assertEquals(75, of(Targets.labels(1), 0, 0, 0, 1).orElseThrow().value(), 1e-9);
  }

  @Test
  void shouldAnswerTheMeanInTheUnitOfTheValue() {
    Baseline baseline =
        Baseline.of(
                samples(Targets.values(1), -1, 1, 3, 5),
                List.of(new TargetColumn("price", 400_000, 1_000)))
            .orElseThrow();

    assertEquals(Math.sqrt(5) * 1_000, baseline.value(), 1e-6);
    assertEquals("the mean of price always", baseline.answer());
    assertTrue(baseline.isBeatenBy(2_000));
    assertFalse(baseline.isBeatenBy(459_400));
  }

  @Test
  void shouldCountTheClassesOfAllPositions() {
    Dataset test = samples(0, Targets.classes(3, 2), new float[][] {{1, 2}, {2, 2}});

    assertEquals(
        Optional.of(new Baseline(Metric.ACCURACY, 75, "class 2 always")),
        Baseline.of(test, List.of()));
  }

  @Test
  void shouldGiveTokensByTheirFrequency() {
    Dataset test = samples(4, Targets.classes(4, 2), new float[][] {{0, 1}, {2, 0}});

    Baseline baseline = Baseline.of(test, List.of()).orElseThrow();

    // Frequencies 1/2, 1/4 and 1/4: 1.5 bits.
    assertEquals(Metric.PERPLEXITY, baseline.metric());
    assertEquals(Math.pow(2, 1.5), baseline.value(), 1e-9);
    assertTrue(baseline.isBeatenBy(2.8));
    assertFalse(baseline.isBeatenBy(4));
    assertFalse(baseline.isBeatenBy(Double.NaN));
  }

  @Test
  void shouldSayNothingWithoutSamples() {
    assertEquals(Optional.empty(), of(Targets.classes(3)));
  }

  private static Optional<Baseline> of(Targets targets, float... values) {
    return Baseline.of(samples(targets, values), List.of());
  }

  private static Dataset samples(Targets targets, float... values) {
    float[][] rows = new float[values.length][];
    for (int i = 0; i < rows.length; i++) {
      rows[i] = new float[] {values[i]};
    }
    return samples(0, targets, rows);
  }

  private static Dataset samples(int tokens, Targets targets, float[][] rows) {
    return new Samples(tokens, targets, rows);
  }
}
