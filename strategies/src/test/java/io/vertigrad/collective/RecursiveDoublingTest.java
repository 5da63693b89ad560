package io.vertigrad.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RecursiveDoublingTest {

  private static final int LENGTH = 25;

  /** Three pieces, the last of them shorter. */
  private static final int PIECE = 10;

  @ParameterizedTest
  @CsvSource({
    "FLOAT32, 1",
    "FLOAT32, 2",
    "FLOAT32, 3",
    "FLOAT32, 17",
    "FLOAT32, 64",
    "BFLOAT16, 23",
    "FLOAT16, 32"
  })
  void shouldComputeTheSameSumForAllWorkersInAnyOrderOfArrival(DataType type, int workers) {
    float[][] vectors = sums(type, workers, 1);
    double[] exact = exactSum(workers);
    for (float[] each : vectors) {
      assertArrayEquals(vectors[0], each, "the same bits");
    }
    double rounding = type == DataType.FLOAT32 ? 1e-5 : type == DataType.FLOAT16 ? 2e-2 : 0.2;
    for (int e = 0; e < LENGTH; e++) {
      assertEquals(exact[e], vectors[0][e], rounding * Math.sqrt(workers), "element " + e);
    }
    assertArrayEquals(vectors[0], sums(type, workers, 2)[0], "another order");
  }

  private static float[][] sums(DataType type, int workers, long seed) {
    SimulatedWorkers simulated = new SimulatedWorkers(seed, NetworkFaults.NONE);
    float[][] vectors = new float[workers][];
    for (int rank = 0; rank < workers; rank++) {
      vectors[rank] = vector(rank);
      simulated.start(
          rank,
          worker -> {
            worker.awaitGroup();
            new RecursiveDoubling(worker, worker.adopt(), type, PIECE).sum(7, vectors[worker.rank]);
          });
    }
    simulated.regroup(0, 1, SimulatedWorkers.ranks(workers));
    simulated.run();
    return vectors;
  }

  private static float[] vector(int rank) {
    Random random = new Random(rank);
    float[] vector = new float[LENGTH];
    for (int e = 0; e < LENGTH; e++) {
      vector[e] = (float) random.nextGaussian();
    }
    return vector;
  }

  private static double[] exactSum(int workers) {
    double[] sum = new double[LENGTH];
    for (int rank = 0; rank < workers; rank++) {
      float[] vector = vector(rank);
      for (int e = 0; e < LENGTH; e++) {
        sum[e] += vector[e];
      }
    }
    return sum;
  }
}
