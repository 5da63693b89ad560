package io.vertigrad.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.strategies.TopologyConfig;
import io.vertigrad.strategy.PeerGroup;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TopologyTest {

  private static final double CLOSE = 1e-8;

  @ParameterizedTest
  @CsvSource({"3, 0", "4, 0.333333", "8, 0.804738", "16, 0.949253"})
  void shouldHavePublishedSecondEigenvalueWhenRing(int workers, double published) {
    double found = Topology.named("ring", workers).at(0).secondEigenvalue();

    // The circulant matrix has the eigenvalues 1/3 + 2/3 cos(2 pi k / N).
    double largest = 0;
    for (int k = 1; k < workers; k++) {
      double eigenvalue = 1 / 3.0 + 2 / 3.0 * Math.cos(2 * Math.PI * k / workers);
      largest = Math.max(largest, Math.abs(eigenvalue));
    }
    assertEquals(largest, found, CLOSE);
    assertEquals(published, found, 1e-6);
  }

  @Test
  void shouldOfferBothRingsOfTwoWorkers() {
    assertRow(new double[] {1 / 3.0, 2 / 3.0}, Topology.named("ring", 2), 0);
    assertRow(new double[] {2 / 3.0, 1 / 3.0}, Topology.named("ring", 2), 1);
    assertRow(new double[] {0.5, 0.5}, Topology.named("ring-deduplicated", 2), 0);
    assertEquals(2 / 3.0, Topology.named("ring", 2).spectralGap(), CLOSE);
    assertEquals(1, Topology.named("ring-deduplicated", 2).spectralGap(), CLOSE);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 5, 8})
  void shouldAgreeInOneRoundWhenComplete(int workers) {
    assertEquals(1, Topology.named("complete", workers).spectralGap(), CLOSE);
  }

  @ParameterizedTest
  @ValueSource(ints = {3, 5, 9})
  void shouldFollowMetropolisWeightsWhenStar(int workers) {
    Topology star = Topology.named("star", workers);

    double[] hub = new double[workers];
    java.util.Arrays.fill(hub, 1.0 / workers);
    assertRow(hub, star, 0);
    assertEquals(1.0 / workers, star.at(0).weight(workers - 1, 0), CLOSE);
    assertEquals(1 - 1.0 / workers, star.at(0).weight(workers - 1, workers - 1), CLOSE);
    // Vectors on the leaves that sum to 0 are shrunk by the leaves' own share.
    assertEquals(1 - 1.0 / workers, star.at(0).secondEigenvalue(), CLOSE);
  }

  @Test
  void shouldHaveProductSpectrumWhenTorus() {
    // 3 x 3: (1 + 2 cos a + 2 cos b) / 5 with a, b multiples of 2 pi / 3.
    assertEquals(0.4, Topology.named("torus", 9).at(0).secondEigenvalue(), CLOSE);
    assertEquals(4, Topology.named("torus", 9).at(0).sources(4).length);
  }

  @ParameterizedTest
  @CsvSource({"2, 1", "4, 2", "8, 3", "16, 4"})
  void shouldAverageExactlyAfterOnePeriodWhenExponential(int workers, int period) {
    Topology topology = Topology.named("exponential", workers);

    assertEquals(period, topology.rounds().size());
    assertEquals(1, topology.spectralGap(), 1e-3);
    MixingMatrix product = topology.rounds().stream().reduce(MixingMatrix::then).orElseThrow();
    for (int i = 0; i < workers; i++) {
      assertEquals(1.0 / workers, product.weight(0, i), CLOSE);
    }
    assertEquals(1, topology.at(1).targets(0).length);
  }

  /** The bound is that of the paper: the mean is exact within 2 log_(k+1)(n) + 2 rounds. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4})
  void shouldReachTheExactMeanForAnyNumberOfWorkersWhenBaseK(int degree) {
    for (int workers = 1; workers <= 99; workers++) {
      Topology topology = Topology.baseK(workers, degree);
      int rounds = topology.rounds().size();
      double most = 2 * Math.log(workers) / Math.log(degree + 1) + 2;
      String name = "n = %d, k = %d: %d rounds".formatted(workers, degree, rounds);
      assertTrue(rounds <= most + 1e-9, name);
      Random random = new Random(workers);
      double[] x = random.doubles(workers, -1, 1).toArray();
      double mean = Arrays.stream(x).average().orElseThrow();
      for (MixingMatrix matrix : topology.rounds()) {
        assertDoublyStochastic(matrix, degree, name);
        x = mixed(matrix, x);
      }
      for (double each : x) {
        assertEquals(mean, each, 1e-10, name);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"5, 1, 5", "6, 1, 4", "8, 1, 3", "5, 2, 3", "9, 2, 2", "7, 6, 1"})
  void shouldTakeFewRoundsWhenBaseK(int workers, int degree, int rounds) {
    assertEquals(rounds, Topology.baseK(workers, degree).rounds().size());
    assertEquals(1, Topology.baseK(workers, degree).spectralGap(), 1e-2);
  }

  @Test
  void shouldReadTheDegreeAndRefuseItWithAnotherTopology() {
    TopologyConfig config =
        TopologyConfig.read(
            Settings.of("job", new JsonObject("{\"topology\":\"base-k\",\"degree\":2}")));
    Settings other = Settings.of("job", new JsonObject("{\"topology\":\"torus\",\"degree\":2}"));

    assertEquals(2, config.over(new PeerGroup(1, List.of(0, 1, 2), 0)).at(0).sources(0).length);
    assertEquals(
        "job: degree is 2 with topology torus, expected base-k",
        assertThrows(SettingsException.class, () -> TopologyConfig.read(other)).getMessage());
  }

  private static void assertDoublyStochastic(MixingMatrix matrix, int degree, String name) {
    int size = matrix.size();
    double[] columns = new double[size];
    for (int i = 0; i < size; i++) {
      double row = 0;
      for (int j = 0; j < size; j++) {
        double weight = matrix.weight(i, j);
        assertTrue(weight >= 0, name);
        row += weight;
        columns[j] += weight;
      }
      assertEquals(1, row, 1e-12, name);
      assertTrue(matrix.sources(i).length <= degree, name);
    }
    for (double column : columns) {
      assertEquals(1, column, 1e-12, name);
    }
  }

  private static double[] mixed(MixingMatrix matrix, double[] x) {
    double[] next = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      next[i] = matrix.weight(i, i) * x[i];
      for (int j : matrix.sources(i)) {
        next[i] += matrix.weight(i, j) * x[j];
      }
    }
    return next;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"ring", "ring-deduplicated", "complete", "star", "torus", "exponential", "base-k"})
  void shouldEqualTheIdentityWhenThereIsOneWorker(String name) {
    assertRow(new double[] {1}, Topology.named(name, 1), 0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[[0.5,0.5],[0.5,0.5],[0.5,0.4]] | row 0 has 2 entries, expected 3",
        "[[0.5,0.5,0],[0.5,0.5,0],[0,0,0.9]] | row 2 sums to 0.9, expected 1",
        "[[0.5,0.5],[0.6,0.4]] | column 0 sums to 1.1, expected 1",
        "[[1.5,-0.5],[-0.5,1.5]] | row 0, column 0 is 1.5, expected 0 to 1",
        "[[1,0],[0,1]] | workers [1] exchange with none of [0]",
        "[[0,1],[1,0]] | give the workers a share of their own",
        "[0.5, 0.5] | is not a list of rows"
      })
  void shouldNameTheRowWhenMatrixIsWrong(String matrix, String expected) {
    Settings settings =
        Settings.of("conf/ring.json", new JsonObject("{\"strategy\":{\"mixing\":" + matrix + "}}"))
            .section("strategy");

    SettingsException refused =
        assertThrows(SettingsException.class, () -> TopologyConfig.read(settings));

    String message = refused.getMessage();
    assertEquals("conf/ring.json: strategy.mixing ", message.substring(0, 32));
    assertEquals(true, message.contains(expected.strip()), message);
  }

  @Test
  void shouldUseTheJobsEdgesUntilAWorkerIsMissing() {
    Settings settings =
        Settings.of("job", new JsonObject("{\"topology\":\"star\",\"edges\":[[0,1],[1,2],[2,3]]}"));
    TopologyConfig config = TopologyConfig.read(settings);

    Topology chain = config.over(new PeerGroup(1, List.of(0, 1, 2, 3), 0));
    Topology rest = config.over(new PeerGroup(2, List.of(0, 1, 3), 0));

    assertArrayEquals(new int[] {1, 3}, chain.at(0).sources(2));
    assertArrayEquals(new int[] {0}, rest.at(0).sources(2));
  }

  @Test
  void shouldRefuseEdgesThatLeaveSomeoneOut() {
    Settings settings = Settings.of("job", new JsonObject("{\"edges\":[[0,1],[2,3]]}"));

    SettingsException refused =
        assertThrows(SettingsException.class, () -> TopologyConfig.read(settings));

    assertEquals(
        "job: edges does not bring all workers together: the spectral radius of W - J/N is 1,"
            + " expected below 1; workers [2, 3] exchange with none of [0, 1]",
        refused.getMessage());
  }

  private static void assertRow(double[] expected, Topology topology, int row) {
    for (int j = 0; j < expected.length; j++) {
      assertEquals(expected[j], topology.at(0).weight(row, j), CLOSE);
    }
  }

  /** Computes the circulant matrix for a thousand workers without a table of a million weights. */
  @ParameterizedTest
  @CsvSource({"ring, 3", "exponential, 2", "base-k, 2"})
  void shouldStoreOnlyNonZeroEntriesWhenThereAreManyWorkers(String name, int entries) {
    Topology topology = Topology.named(name, 4_096);

    for (int round = 0; round < topology.rounds().size(); round++) {
      MixingMatrix matrix = topology.at(round);
      for (int i : new int[] {0, 1, 2_047, 4_095}) {
        assertEquals(entries - 1, matrix.sources(i).length);
        assertEquals(entries - 1, matrix.targets(i).length);
        double sum = matrix.weight(i, i);
        for (int j : matrix.sources(i)) {
          sum += matrix.weight(i, j);
        }
        assertEquals(1, sum, 1e-12);
      }
    }
    assertTrue(Double.isNaN(topology.spectralGap()));
  }
}
