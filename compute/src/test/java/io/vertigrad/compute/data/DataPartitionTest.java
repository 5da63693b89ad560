package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataPartition.Kind;
import io.vertx.core.json.JsonArray;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class DataPartitionTest {

  /** Sample i has class i modulo the number of classes. */
  private record Classes(int size, Targets targets, int tokens) implements Dataset {

    Classes(int size, int classes) {
      this(size, Targets.classes(classes), 0);
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
      return index % classes();
    }
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void shouldGiveEachSampleToOneWorkerWhenAllClassesAreUsed(Kind kind) {
    List<int[]> parts = new DataPartition(kind, 3, 0.5).divide(new Classes(1_003, 10), 10, 42);

    int[] all = parts.stream().flatMapToInt(Arrays::stream).sorted().toArray();
    assertArrayEquals(IntStream.range(0, 1_003).toArray(), all);
    for (int[] part : parts) {
      assertArrayEquals(Arrays.stream(part).sorted().toArray(), part);
    }
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void shouldRepeatTheDivisionWhenTheSeedIsTheSame(Kind kind) {
    DataPartition partition = new DataPartition(kind, 2, 0.5);
    Classes data = new Classes(1_000, 10);

    List<int[]> once = partition.divide(data, 5, 3);

    assertTrue(Arrays.deepEquals(once.toArray(), partition.divide(data, 5, 3).toArray()));
    assertFalse(Arrays.deepEquals(once.toArray(), partition.divide(data, 5, 4).toArray()));
  }

  @Test
  void shouldGiveGoldenSizesWhenDivided() {
    // Computed by a second program, with the C library's logarithms.
    assertEquals(List.of(251, 251, 251, 250), sizes(Kind.IID, 1, 1, 1_003, 4, 7));
    assertEquals(List.of(154, 20, 20, 678, 128), sizes(Kind.QUANTITY, 1, 0.5, 1_000, 5, 7));
    assertEquals(List.of(107, 146, 255, 275, 217), sizes(Kind.DIRICHLET, 1, 0.5, 1_000, 5, 7));
    assertEquals(List.of(150, 100, 200, 100, 150), sizes(Kind.BY_LABEL, 2, 1, 1_000, 5, 7));
    assertEquals(
        List.of(970, 771, 647, 910, 616, 642, 553, 183, 280, 428),
        sizes(Kind.DIRICHLET, 1, 0.05, 6_000, 10, 3));
  }

  private static List<Integer> sizes(
      Kind kind, int labels, double alpha, int samples, int workers, long seed) {
    return new DataPartition(kind, labels, alpha)
        .divide(new Classes(samples, 10), workers, seed).stream().map(part -> part.length).toList();
  }

  @Test
  void shouldGiveEachWorkerSoManyLabelsWhenDividedByLabel() {
    Classes data = new Classes(1_000, 10);
    List<int[]> parts = new DataPartition(Kind.BY_LABEL, 2, 1).divide(data, 10, 7);

    int[][] counts = new int[10][10];
    for (int worker = 0; worker < 10; worker++) {
      for (int index : parts.get(worker)) {
        counts[data.label(index)][worker]++;
      }
    }

    for (int worker = 0; worker < 10; worker++) {
      int own = worker;
      assertEquals(2, Arrays.stream(counts).filter(label -> label[own] > 0).count());
    }
    for (int[] label : counts) {
      // Those that have a label share it evenly, and one has it at least.
      int[] sharing = IntStream.of(label).filter(count -> count > 0).sorted().toArray();
      assertEquals(100, IntStream.of(label).sum());
      assertTrue(sharing[sharing.length - 1] - sharing[0] <= 1, Arrays.toString(label));
    }
  }

  @Test
  void shouldLeaveClassesOutWhenNoWorkerHasThem() {
    Classes data = new Classes(1_000, 10);

    List<int[]> parts = new DataPartition(Kind.BY_LABEL, 2, 1).divide(data, 3, 7);

    int[] found = parts.stream().flatMapToInt(Arrays::stream).map(data::label).distinct().toArray();
    assertTrue(found.length <= 6, Arrays.toString(found));
    assertEquals(100 * found.length, parts.stream().mapToInt(part -> part.length).sum());
  }

  @ParameterizedTest
  @CsvSource({"0.05, 3", "0.5, 0", "5, 1"})
  void shouldGiveAtLeastTenSamplesWhenProportionsAreDrawn(double alpha, long seed) {
    for (Kind kind : List.of(Kind.DIRICHLET, Kind.QUANTITY)) {
      int fewest =
          new DataPartition(kind, 1, alpha)
              .divide(new Classes(10_000, 10), 10, seed).stream()
                  .mapToInt(part -> part.length)
                  .min()
                  .orElseThrow();
      assertTrue(fewest >= DataPartition.FEWEST_SAMPLES, kind + " " + fewest);
    }
  }

  @Test
  void shouldDrawProportionsWithTheMeanAndVarianceOfTheDistribution() {
    SplitMix64 random = new SplitMix64(1);
    for (double alpha : List.of(0.1, 0.5, 3.0)) {
      DirichletSampler sampler = new DirichletSampler(alpha);
      int draws = 20_000;
      double sum = 0;
      double squares = 0;
      for (int i = 0; i < draws; i++) {
        double[] shares = sampler.draw(random, 4, place -> true);
        assertEquals(1, Arrays.stream(shares).sum(), 1e-12);
        sum += shares[0];
        squares += shares[0] * shares[0];
      }
      double mean = sum / draws;
      // Mean 1/n, variance (1/n)(1 - 1/n)/(n alpha + 1); six standard errors of the mean.
      double variance = 0.25 * 0.75 / (4 * alpha + 1);
      assertEquals(0.25, mean, 6 * Math.sqrt(variance / draws));
      assertEquals(variance, squares / draws - mean * mean, 0.05 * variance);
    }
  }

  @Test
  void shouldGiveNothingToPlacesThatTakeNoPartEvenWhenAlphaIsTiny() {
    double[] shares = new DirichletSampler(1e-4).draw(new SplitMix64(5), 4, place -> place != 2);

    assertEquals(0, shares[2]);
    assertEquals(1, Arrays.stream(shares).sum(), 1e-12);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          BY_LABEL | 11 | 1 | 10 | workers.partition.labels is 11, but the data have 10 classes: expected at most so many
          IID | 1 | 1 | 1001 | workers.partition: 1000 samples for 1001 workers, expected at least 1 for each; use fewer workers
          DIRICHLET | 1 | 0.5 | 101 | workers.partition: 1000 samples for 101 workers, expected at least 10 for each; use fewer workers
          """)
  void shouldNameWhatIsWrongWhenTheDataCannotBeDividedSo(
      Kind kind, int labels, double alpha, int workers, String why) {
    DataPartition partition = new DataPartition(kind, labels, alpha);
    Classes data = new Classes(1_000, 10);

    assertEquals(
        why,
        assertThrows(DataException.class, () -> partition.divide(data, workers, 0)).getMessage());
  }

  @Test
  void shouldSayThatAlphaIsTooSmallWhenNoDrawSuffices() {
    DataPartition partition = new DataPartition(Kind.QUANTITY, 1, 1e-4);
    Classes data = new Classes(1_000_000, 10_000);

    String why =
        assertThrows(DataException.class, () -> partition.divide(data, 4_096, 0)).getMessage();

    assertTrue(why.startsWith("workers.partition.alpha is 1.0E-4: in 976 draws, one of 4096"), why);
  }

  @Test
  void shouldDivideTokensAndValuesByChanceOnlyWhenAsked() {
    Dataset tokens = new Classes(100, Targets.classes(5), 5);
    Dataset values = new Classes(100, Targets.values(1), 0);
    for (Dataset data : List.of(tokens, values)) {
      assertEquals(4, new DataPartition(Kind.IID, 1, 1).divide(data, 4, 0).size());
      assertEquals(4, new DataPartition(Kind.QUANTITY, 1, 5).divide(data, 4, 0).size());
      assertTrue(DataPartition.countsOfClasses(data).isEmpty());
    }

    assertEquals(
        "workers.partition.kind is dirichlet, but the data have tokens: expected iid or quantity,"
            + " or data whose samples have one class each",
        refusal(Kind.DIRICHLET, tokens));
    assertTrue(refusal(Kind.BY_LABEL, values).contains("the data have real values"));
  }

  private static String refusal(Kind kind, Dataset data) {
    DataPartition partition = new DataPartition(kind, 1, 1);
    return assertThrows(DataException.class, () -> partition.divide(data, 2, 0)).getMessage();
  }

  @Test
  void shouldReadTheChosenSamplesWhenSeenThroughASubset() {
    Dataset all = new NumberedDataset(10);
    Dataset some = new DataSubset(all, 7, 3, 5);
    float[] features = new float[3];

    some.read(1, features, 1);

    assertArrayEquals(new float[] {0, 3, -3}, features);
    assertEquals(3, some.size());
    assertEquals(List.of(1, 0, 2), IntStream.range(0, 3).mapToObj(some::label).toList());
    assertEquals(all.shape(), some.shape());
    assertArrayEquals(new int[] {1, 1, 1}, DataPartition.countsOfClasses(some).orElseThrow());
    assertThrows(IndexOutOfBoundsException.class, () -> new DataSubset(all, 10));
  }

  @Test
  void shouldHaveOneFingerprintOfTheFormWhenOnlyNumberAndValuesDiffer() {
    DataFingerprint form = DataFingerprint.ofForm(new NumberedDataset(10));

    assertEquals("samples of 2 with 3 classes", form.counts());
    assertTrue(form.difference(DataFingerprint.ofForm(new NumberedDataset(9))).isEmpty());
    assertEquals(
        "found samples of 1 with 3 classes, expected samples of 2 with 3 classes",
        form.difference(DataFingerprint.ofForm(new Classes(10, 3))).orElseThrow());
    assertEquals(10, form.samples().orElseThrow().size());
  }

  @Test
  void shouldNameTheColumnsWhenOnlyTheirNamesDiffer() {
    DataFingerprint form = DataFingerprint.ofForm(named("age", "pulse"));

    assertEquals(
        "found samples of 2 with 3 classes and the names pulse, age,"
            + " expected samples of 2 with 3 classes and the names age, pulse",
        form.difference(DataFingerprint.ofForm(named("pulse", "age"))).orElseThrow());
    String[] many = IntStream.range(0, 11).mapToObj(i -> "column " + i).toArray(String[]::new);
    String[] others = IntStream.range(1, 12).mapToObj(i -> "column " + i).toArray(String[]::new);
    String difference =
        DataFingerprint.ofForm(named(many))
            .difference(DataFingerprint.ofForm(named(others)))
            .orElseThrow();
    String oneOfTwo = "samples of 2 with 3 classes and 11 names \\(hash ([0-9a-f]{16})\\)";
    assertTrue(
        difference.matches("found %s, expected %s".formatted(oneOfTwo, oneOfTwo)), difference);
  }

  private static Dataset named(String... columns) {
    return new Named(List.of(columns));
  }

  /** Two samples of three classes, with these names of columns. */
  private record Named(List<String> columns) implements Dataset {
    @Override
    public int size() {
      return 2;
    }

    @Override
    public List<Integer> shape() {
      return List.of(2);
    }

    @Override
    public int classes() {
      return 3;
    }

    @Override
    public void read(int index, float[] features, int offset) {
      Arrays.fill(features, offset, offset + 2, index);
    }

    @Override
    public int label(int index) {
      return index;
    }

    @Override
    public Map<String, Object> fitted() {
      return Map.of("names", new JsonArray(columns));
    }
  }
}
