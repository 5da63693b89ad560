package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

public class AllReduceStrategyTest {

  private static final double CLOSE = 1e-4;

  @ParameterizedTest
  @CsvSource({
    "1, 7, 2, 0",
    "2, 7, 2, 0",
    "3, 7, 2, 0",
    "4, 7, 100, 0",
    "5, 3, 1, 0",
    "8, 6, 1, 0",
    "3, 1000, 64, 0",
    "1, 7, 2, 65536",
    "2, 7, 2, 65536",
    "5, 3, 1, 65536",
    "3, 1000, 64, 65536"
  })
  void shouldEqualOneMachineWithTheWholeBatch(
      int workers, int length, int pieceElements, int directBytes) {
    SimulatedTraining training = training(direct(directBytes), NetworkFaults.NONE, 1);
    training.length = length;
    training.trainable = length;
    training.pieceElements = pieceElements;
    training.run(workers);

    for (int e = 0; e < length; e++) {
      double x = 1 + e;
      for (int step = 0; step < training.steps; step++) {
        double gradient = 0;
        for (int i = 0; i < workers; i++) {
          gradient += (x - SimulatedTraining.target(i, e)) / workers;
        }
        x -= 0.1 * gradient;
      }
      assertEquals(x, training.parameters(0)[e], CLOSE * Math.max(1, Math.abs(x)));
    }
    assertIdentical(training, workers);
  }

  @Test
  void shouldWeighBySamplesWhenBatchesAreUneven() {
    SimulatedTraining training = training("{}", NetworkFaults.NONE, 1);
    training.samples = (rank, step) -> rank == 0 ? 1 : 3;
    training.steps = 1;

    training.run(2);

    double mean = (1 * (1 - target(0)) + 3 * (1 - target(1))) / 4;
    assertEquals(1 - 0.1 * mean, training.parameters(1)[0], CLOSE);
    // Statistics have differences 0.25 and 0.5, averaged with the same weights, without a learning
    // rate.
    assertEquals(7 - (0.25 + 3 * 0.5) / 4, training.parameters(0)[6], CLOSE);
    assertEquals(4, training.replicas.get(0).samples(), CLOSE);
  }

  @Test
  void shouldScaleLearningRateByWorkersWhenAsked() {
    SimulatedTraining training = training("{\"scaleLearningRate\":true}", NetworkFaults.NONE, 1);
    training.steps = 1;

    training.run(4);

    double mean = 1 - (target(0) + target(1) + target(2) + target(3)) / 4;
    assertEquals(1 - 0.4 * mean, training.parameters(3)[0], CLOSE);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
  void shouldKeepReplicasIdenticalWhenMessagesAreLostDoubledAndReordered(long seed) {
    assertUnharmed(seed, 0, Compression.NONE);
    assertUnharmed(seed, 65_536, Compression.NONE);
  }

  public static void assertUnharmed(long seed, int directBytes, Compression compression) {
    SimulatedTraining undisturbed = random(directBytes, NetworkFaults.NONE, 1);
    SimulatedTraining disturbed = random(directBytes, NetworkFaults.FREQUENT, seed);
    undisturbed.compression = compression;
    disturbed.compression = compression;

    undisturbed.run(4);
    disturbed.run(4);

    assertIdentical(disturbed, 4);
    assertArrayEquals(undisturbed.parameters(0), disturbed.parameters(0));
  }

  @ParameterizedTest
  @CsvSource({"FLOAT16, 0", "BFLOAT16, 0", "FLOAT16, 65536", "BFLOAT16, 65536"})
  void shouldKeepReplicasIdenticalWhenSumsTravelRounded(String type, int directBytes) {
    SimulatedTraining training = random(directBytes, NetworkFaults.NONE, 1);
    training.type = DataType.valueOf(type);

    training.run(3);

    assertIdentical(training, 3);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 4, 8})
  void shouldSendTwiceTheVectorOverTheRing(int workers) {
    long[] bytes = new long[2];
    for (int steps = 0; steps < 2; steps++) {
      SimulatedTraining training =
          training("{\"checkEvery\":0,\"directBytes\":0}", NetworkFaults.NONE, 1);
      training.length = 8 * 3 * 7 - 1;
      training.trainable = training.length;
      training.steps = steps;
      training.run(workers);
      bytes[steps] = training.network.bytes();
    }

    // All workers together send 2 (N - 1) M; the vector has one more element for the sample count.
    assertEquals(2L * (workers - 1) * (8 * 3 * 7) * Float.BYTES, bytes[1] - bytes[0]);
  }

  @ParameterizedTest
  @ValueSource(ints = {2, 3, 8})
  void shouldSendTheVectorToEachOtherInHalfTheMessagesWhenItIsSmall(int workers) {
    long[][] traffic = new long[2][2];
    for (int steps = 0; steps < 2; steps++) {
      SimulatedTraining training = training("{\"checkEvery\":0}", NetworkFaults.NONE, 1);
      training.pieceElements = 100;
      training.steps = steps;
      training.run(workers);
      traffic[steps][0] = training.network.bytes();
      traffic[steps][1] = training.network.messages();
    }

    // The vector has one element more than the replica's 7, for the sample count.
    long pairs = (long) workers * (workers - 1);
    assertEquals(pairs * 8 * Float.BYTES, traffic[1][0] - traffic[0][0]);
    assertEquals(pairs, traffic[1][1] - traffic[0][1]);
  }

  @Test
  void shouldSkipTheStepTogetherWhenOneGradientIsNotFinite() {
    SimulatedTraining training = training("{}", NetworkFaults.NONE, 1);
    training.steps = 1;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          g[0] = rank == 1 ? Float.POSITIVE_INFINITY : 1;
          return g;
        };

    training.run(3);

    assertArrayEquals(training.initial(0), training.parameters(2));
    assertEquals(1, training.strategies.get(0).timing().skipped());
  }

  @Test
  void shouldNameBothWorkersWhenReplicasDiffer() {
    SimulatedTraining training = training("{\"checkEvery\":3}", NetworkFaults.NONE, 1);
    training.gradient =
        (rank, step, x) -> {
          if (rank == 1 && step == 2) {
            x[0] += 1;
          }
          return new float[x.length];
        };

    AssertionError failed = assertThrows(AssertionError.class, () -> training.run(3));

    String message = failed.getMessage();
    assertTrue(message.contains("after step 3 the parameters of worker 1"), message);
    assertTrue(message.contains("differ from those of worker 0"), message);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
  void shouldContinueWithTheSameBitsWhenAWorkerDies(long seed) {
    SimulatedTraining training = random(seed % 2 == 0 ? 0 : 65_536, NetworkFaults.FREQUENT, seed);
    training.steps = 40;
    training.network.kill(60_000_000 + seed * 7_300_000, 2);
    training.network.regroup(200_000_000, 2, List.of(0, 1, 3));

    training.run(4);

    assertArrayEquals(training.parameters(0), training.parameters(1));
    assertArrayEquals(training.parameters(0), training.parameters(3));
    assertEquals(40, training.replicas.get(3).updates());
  }

  @Test
  void shouldSendTheStateOfTheOthersToANewcomer() {
    SimulatedTraining training = random(0, NetworkFaults.NONE, 1);
    training.workers = 3;
    for (int rank = 0; rank < 3; rank++) {
      training.network.start(rank, training::train);
    }
    training.network.regroup(0, 1, List.of(1, 2));
    training.network.regroup(5_500_000, 2, List.of(0, 1, 2));

    training.network.run();

    assertIdentical(training, 3);
    assertEquals(training.steps, training.replicas.get(0).updates());
  }

  public static SimulatedTraining training(String settings, NetworkFaults faults, long seed) {
    return new SimulatedTraining(new AllReduceStrategy.Provider(), settings, faults, seed);
  }

  private static String direct(int bytes) {
    return "{\"checkEvery\":1,\"directBytes\":%d}".formatted(bytes);
  }

  private static SimulatedTraining random(int directBytes, NetworkFaults faults, long seed) {
    SimulatedTraining training = training(direct(directBytes), faults, seed);
    training.length = 23;
    training.trainable = 20;
    training.pieceElements = 3;
    training.gradient = SimulatedTraining::gaussian;
    return training;
  }

  public static void assertIdentical(SimulatedTraining training, int workers) {
    for (int i = 1; i < workers; i++) {
      assertArrayEquals(training.parameters(0), training.parameters(i), "worker " + i);
    }
  }

  public static double target(int rank) {
    return SimulatedTraining.target(rank, 0);
  }
}
