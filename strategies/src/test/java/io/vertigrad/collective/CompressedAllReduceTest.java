package io.vertigrad.collective;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.strategies.AllReduceStrategyTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests the all-reduce of compressed gradients with simulated workers. */
class CompressedAllReduceTest {

  private static final double CLOSE = 1e-4;

  @ParameterizedTest
  @CsvSource({"INT8, 1", "INT8, 2", "TOPK, 3", "TOPK, 4"})
  void shouldKeepReplicasIdenticalWhenGradientsAreCompressed(Kind kind, long seed) {
    AllReduceStrategyTest.assertUnharmed(seed, 65_536, new Compression(kind, 0.2));
  }

  /**
   * Trains towards a mean of 0 while each worker's own gradient stays near 1, so the residuals
   * never vanish. They are at most some gradients of each worker, times the rate of 0.01.
   */
  @ParameterizedTest
  @EnumSource(names = {"INT8", "TOPK"})
  @Tag("slow")
  void shouldConvergeToTheSameMeanWhenGradientsAreCompressed(Kind kind) {
    SimulatedTraining training = AllReduceStrategyTest.training("{}", NetworkFaults.NONE, 1);
    training.compression = new Compression(kind, 0.2);
    training.optimizer = OptimizerConfig.sgd(0.01);
    training.steps = 1_500;

    training.run(3);

    for (int e = 0; e < training.trainable; e++) {
      double mean =
          (AllReduceStrategyTest.target(0)
                      + AllReduceStrategyTest.target(1)
                      + AllReduceStrategyTest.target(2))
                  / 3
              - 0.5 * e;
      assertEquals(mean, training.parameters(0)[e], 0.02, "element " + e);
    }
    AllReduceStrategyTest.assertIdentical(training, 3);
  }

  @Test
  void shouldKeepTheResidualWhenACompressedStepIsSkipped() {
    SimulatedTraining training = AllReduceStrategyTest.training("{}", NetworkFaults.NONE, 1);
    training.compression = new Compression(Kind.TOPK, 0.2);
    training.steps = 2;
    training.gradient =
        (rank, step, x) -> {
          float[] g = new float[x.length];
          g[0] = step == 0 && rank == 1 ? Float.NaN : 1;
          return g;
        };

    training.run(2);

    assertEquals(1, training.strategies.get(0).timing().skipped());
    assertEquals(1 - 0.1, training.parameters(0)[0], CLOSE);
    AllReduceStrategyTest.assertIdentical(training, 2);
  }
}
