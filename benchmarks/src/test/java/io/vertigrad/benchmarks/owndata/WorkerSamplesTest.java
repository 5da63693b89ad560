package io.vertigrad.benchmarks.owndata;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.vertigrad.compute.data.Dataset;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class WorkerSamplesTest {

  private static final int[] OWN = {3, 5, 7, 9, 11};

  @Test
  void shouldDrawEachOwnSampleAtMostOnceWhenAnEpochLasts() {
    WorkerSamples samples = new WorkerSamples(new Numbered(), OWN, y -> y, 1, 0);
    Set<Integer> drawn = new TreeSet<>(labels(samples));
    drawn.addAll(labels(samples));

    assertEquals(4, drawn.size());
    assertEquals(Set.of(), minus(drawn, OWN));
  }

  @Test
  void shouldShuffleAgainWhenABatchNoLongerFits() {
    WorkerSamples samples = new WorkerSamples(new Numbered(), OWN, y -> y, 1, 0);
    List<Integer> first = List.of(0, 1, 2, 3, 4).stream().map(i -> labels(samples).get(0)).toList();
    WorkerSamples again = new WorkerSamples(new Numbered(), OWN, y -> y, 1, 0);
    WorkerSamples other = new WorkerSamples(new Numbered(), OWN, y -> y, 2, 0);

    assertEquals(first, List.of(0, 1, 2, 3, 4).stream().map(i -> labels(again).get(0)).toList());
    assertNotEquals(first, List.of(0, 1, 2, 3, 4).stream().map(i -> labels(other).get(0)).toList());
  }

  @Test
  void shouldGiveTheWorkersOwnLabelsWhenItTakesThemForOthers() {
    WorkerSamples samples = new WorkerSamples(new Numbered(), OWN, y -> 100 + y, 1, 0);

    assertEquals(Set.of(), minus(new TreeSet<>(labels(samples)), 103, 105, 107, 109, 111));
  }

  private static List<Integer> labels(WorkerSamples samples) {
    return Arrays.stream(samples.next(2).labels()).boxed().toList();
  }

  private static Set<Integer> minus(Set<Integer> some, int... others) {
    Set<Integer> known = Arrays.stream(others).boxed().collect(Collectors.toSet());
    return some.stream().filter(one -> !known.contains(one)).collect(Collectors.toSet());
  }

  /** Samples whose class is their number. */
  private static final class Numbered implements Dataset {

    @Override
    public int size() {
      return 12;
    }

    @Override
    public List<Integer> shape() {
      return List.of(1);
    }

    @Override
    public int classes() {
      return 12;
    }

    @Override
    public void read(int index, float[] features, int offset) {
      features[offset] = index;
    }

    @Override
    public int label(int index) {
      return index;
    }
  }
}
