package io.vertigrad.collective;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Block.Kind;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Exchanger;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PowerSgdTest {

  private static final int ROWS = 12;
  private static final int COLUMNS = 18;
  private static final int MATRIX = ROWS * COLUMNS;
  private static final int LONGEST = 1_000;
  private static final ParameterLayout LAYOUT =
      new ParameterLayout(
          List.of(
              new Block("bias", List.of(5), Kind.TRAINABLE),
              new Block("kernel", List.of(ROWS, 2, 9), Kind.TRAINABLE),
              new Block("small", List.of(2, 2), Kind.TRAINABLE),
              new Block("mean", List.of(3), Kind.STATISTIC)));

  /** One worker; its sum is its own gradient. */
  private static final AllReduce ALONE =
      new AllReduce() {
        @Override
        public void sum(long round, float[] vector) {}

        @Override
        public int phases() {
          return 1;
        }
      };

  @Test
  void shouldExchangeFactorsAndSmallArraysWhole() {
    PowerSgd rankTwo = new PowerSgd(LAYOUT.blocks(), 2);

    assertEquals(2 * (ROWS + COLUMNS) + 5 + 4 + 3, rankTwo.exchanged(LAYOUT.length()));
  }

  /** The range of M Q is that of M if the rank suffices, whatever Q begins with. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void shouldBeExactWhenTheGradientHasTheRank(int rank) {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), rank);
    float[] gradient = gradient(rank, 1);
    float[] vector = gradient.clone();

    compression.sum(vector, ALONE, 0);

    assertArrayEquals(gradient, vector, 1e-4f);
  }

  /** Everything delivered plus the residual is everything that should have been delivered. */
  @Test
  void shouldKeepTheErrorOfFactorsAsResidual() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), 1);
    float[] wanted = new float[LAYOUT.trainable()];
    float[] received = new float[LAYOUT.trainable()];
    for (int step = 0; step < 50; step++) {
      float[] vector = gradient(8, step);
      add(wanted, vector);
      compression.sum(vector, ALONE, 2L * step);
      add(received, vector);
      compression.delivered(0, LAYOUT.trainable());
    }

    add(received, compression.memory());

    assertArrayEquals(wanted, received, 1e-3f);
  }

  /** A mean over small batches divides by their weight, and must not enlarge the residual. */
  @Test
  void shouldKeepTheSameResidualForAnyBatchWeights() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), 1);
    float[] wanted = new float[LAYOUT.trainable()];
    float[] received = new float[LAYOUT.trainable()];
    for (int step = 0; step < 50; step++) {
      float weight = step % 5 == 4 ? 0.125f : 1;
      float[] vector = gradient(8, step);
      add(wanted, vector);
      scale(vector, weight);
      compression.weigh(weight);
      compression.sum(vector, ALONE, 2L * step);
      scale(vector, 1 / weight);
      add(received, vector);
      compression.delivered(0, LAYOUT.trainable());
    }

    add(received, compression.memory());

    assertArrayEquals(wanted, received, 1e-3f);
  }

  private static void scale(float[] vector, float factor) {
    for (int i = 0; i < vector.length; i++) {
      vector[i] *= factor;
    }
  }

  /** With a warm start, repeated iterations find the best approximation of a constant gradient. */
  @Test
  void shouldApproachTheLargestDirectionsStepByStep() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), 1);
    float[] gradient = new float[LAYOUT.length()];
    float[] large = gradient(1, 3);
    float[] small = gradient(6, 4);
    for (int i = 5; i < 5 + MATRIX; i++) {
      gradient[i] = 3 * large[i] + 0.3f * small[i];
    }

    float[] first = sum(compression, gradient);
    for (int step = 0; step < 20; step++) {
      compression.restore(withoutResidual(compression.memory()));
      sum(compression, gradient);
    }
    compression.restore(withoutResidual(compression.memory()));
    float[] last = sum(compression, gradient);

    assertTrue(distance(last, gradient) < distance(first, gradient));
  }

  @Test
  void shouldChangeNothingWhenAStepWasSkipped() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), 2);
    compression.sum(gradient(8, 1), ALONE, 0);
    compression.delivered(0, LAYOUT.trainable());
    float[] before = compression.memory();
    float[] broken = gradient(8, 2);
    broken[7] = Float.NaN;

    compression.sum(broken, ALONE, 2);

    assertTrue(Float.isNaN(broken[7]));
    assertArrayEquals(before, compression.memory());
  }

  @Test
  void shouldContinueWithTheSameBitsWhenRestored() {
    PowerSgd one = new PowerSgd(LAYOUT.blocks(), 2);
    sum(one, gradient(8, 1));
    PowerSgd other = new PowerSgd(LAYOUT.blocks(), 2);
    other.restore(one.memory());

    assertArrayEquals(sum(one, gradient(8, 2)), sum(other, gradient(8, 2)));
    other.restore(new float[0]);
    assertArrayEquals(new PowerSgd(LAYOUT.blocks(), 2).memory(), other.memory());
    assertThrows(IllegalArgumentException.class, () -> other.restore(new float[3]));
  }

  /** A gradient of zeros must not leave zeros to start the next step with. */
  @Test
  void shouldRecoverFromAGradientOfZeros() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), 1);
    sum(compression, new float[LAYOUT.length()]);
    float[] gradient = gradient(1, 5);

    assertArrayEquals(gradient, sum(compression, gradient), 1e-4f);
  }

  /** The rule as published, with means where this one has sums. */
  @Test
  void shouldSumAsPublishedWhenTwoWorkersExchangeFactors() throws Exception {
    List<PowerSgd> workers =
        List.of(new PowerSgd(LAYOUT.blocks(), 2), new PowerSgd(LAYOUT.blocks(), 2));
    PublishedRule published = new PublishedRule(workers.get(0).warmStart(), 2);
    Exchanger<float[]> wire = new Exchanger<>();
    for (int step = 0; step < 10; step++) {
      List<float[]> vectors = List.of(gradient(8, 2L * step), gradient(8, 2L * step + 1));
      double[] mean = published.mean(vectors);

      CompletableFuture<Void> other =
          CompletableFuture.runAsync(
              () -> workers.get(1).sum(vectors.get(1), new Pair(wire), 0),
              task -> new Thread(task).start());
      workers.get(0).sum(vectors.get(0), new Pair(wire), 0);
      other.get(10, TimeUnit.SECONDS);

      assertArrayEquals(vectors.get(0), vectors.get(1));
      for (int i = 0; i < MATRIX; i++) {
        assertEquals(mean[i], vectors.get(0)[5 + i] / 2, 1e-3, "step " + step);
      }
      workers.forEach(worker -> worker.delivered(0, LAYOUT.trainable()));
    }
  }

  /** The sum over two threads, each of which has one worker. */
  private record Pair(Exchanger<float[]> wire) implements AllReduce {

    @Override
    public void sum(long round, float[] vector) {
      try {
        add(vector, wire.exchange(vector.clone(), 10, TimeUnit.SECONDS));
      } catch (InterruptedException | TimeoutException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    public int phases() {
      return 1;
    }
  }

  /** PowerSGD of one matrix in double, algorithms 1 and 2 of Vogels et al. 2019. */
  private static final class PublishedRule {

    private final double[][] residuals = new double[2][MATRIX];
    private final int rank;
    private double[] q;

    PublishedRule(float[] start, int rank) {
      this.rank = rank;
      q = IntStream.range(0, start.length).mapToDouble(i -> start[i]).toArray();
    }

    double[] mean(List<float[]> gradients) {
      double[] p = new double[ROWS * rank];
      double[] next = new double[COLUMNS * rank];
      for (int w = 0; w < 2; w++) {
        for (int i = 0; i < MATRIX; i++) {
          residuals[w][i] += gradients.get(w)[5 + i];
          for (int r = 0; r < rank; r++) {
            p[i / COLUMNS * rank + r] += residuals[w][i] * q[i % COLUMNS * rank + r] / 2;
          }
        }
      }
      orthonormalise(p);
      double[] mean = new double[MATRIX];
      for (int w = 0; w < 2; w++) {
        for (int i = 0; i < MATRIX; i++) {
          for (int r = 0; r < rank; r++) {
            next[i % COLUMNS * rank + r] += residuals[w][i] * p[i / COLUMNS * rank + r] / 2;
          }
        }
      }
      for (int i = 0; i < MATRIX; i++) {
        for (int r = 0; r < rank; r++) {
          mean[i] += p[i / COLUMNS * rank + r] * next[i % COLUMNS * rank + r];
        }
        residuals[0][i] -= mean[i];
        residuals[1][i] -= mean[i];
      }
      q = next;
      return mean;
    }

    private void orthonormalise(double[] p) {
      for (int r = 0; r < rank; r++) {
        for (int before = 0; before < r; before++) {
          double share = dot(p, r, before);
          for (int row = 0; row < ROWS; row++) {
            p[row * rank + r] -= share * p[row * rank + before];
          }
        }
        double norm = Math.sqrt(dot(p, r, r));
        for (int row = 0; row < ROWS; row++) {
          p[row * rank + r] /= norm;
        }
      }
    }

    private double dot(double[] p, int one, int other) {
      return IntStream.range(0, ROWS)
          .mapToDouble(i -> p[i * rank + one] * p[i * rank + other])
          .sum();
    }
  }

  /** With one worker there is nothing to average before P is made orthonormal. */
  @Test
  void shouldCompressAsTheSumOfOneWorkerDoes() {
    PowerSgd one = new PowerSgd(LAYOUT.blocks(), 2);
    PowerSgd other = new PowerSgd(LAYOUT.blocks(), partitions(LAYOUT.trainable()), 2);
    for (int step = 0; step < 5; step++) {
      float[] gradient = gradient(8, step);
      float[] received = new float[LAYOUT.length()];
      compress(other, gradient, LAYOUT.trainable()).forEach((at, t) -> t.copyTo(received, at));

      assertArrayEquals(
          Arrays.copyOf(sum(one, gradient), LAYOUT.trainable()),
          Arrays.copyOf(received, LAYOUT.trainable()));
      assertArrayEquals(one.memory(), other.memory());
    }
  }

  /** Pieces of 47 elements begin and end within rows. */
  @ParameterizedTest
  @ValueSource(ints = {47, 100, LONGEST})
  void shouldKeepTheErrorOfFactorsOfPiecesAsResidual(int piece) {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), partitions(piece), 1);
    float[] wanted = new float[LAYOUT.trainable()];
    float[] received = new float[LAYOUT.trainable()];
    long bytes = 0;
    for (int step = 0; step < 50; step++) {
      float[] gradient = gradient(8, step);
      add(wanted, gradient);
      Map<Integer, Tensor> sent = compress(compression, gradient, piece);
      sent.forEach((first, tensor) -> tensor.addTo(received, first, 1));
      bytes += sent.values().stream().mapToLong(Tensor::payloadBytes).sum();
    }

    add(received, compression.memory());

    assertArrayEquals(wanted, received, 1e-3f);
    assertTrue(bytes < 50L * LAYOUT.trainable() * Float.BYTES, bytes + " bytes");
  }

  @Test
  void shouldKeepTheResidualWhenATensorIsNotDelivered() {
    PowerSgd compression = new PowerSgd(LAYOUT.blocks(), partitions(100), 2);
    compress(compression, gradient(8, 1), 100);
    PowerSgd restored = new PowerSgd(LAYOUT.blocks(), partitions(100), 2);
    float[] pending = new float[compression.pending().remaining()];
    compression.pending().get(pending);
    restored.restore(pending);

    for (Partition partition : partitions(100)) {
      compression.compress(partition.first(), piece(gradient(8, 2), partition));
    }

    assertArrayEquals(restored.memory(), compression.memory());
    assertEquals(
        compress(restored, gradient(8, 3), 100), compress(compression, gradient(8, 3), 100));
  }

  @ParameterizedTest
  @CsvSource({"1, 0", "3, 0", "3, 65536"})
  void shouldTrainEqualReplicasWithFewerBytes(int workers, long directBytes) {
    SimulatedTraining exact = training(0, directBytes, NetworkFaults.NONE);
    exact.run(workers);
    SimulatedTraining lossy = training(2, directBytes, NetworkFaults.FREQUENT);
    lossy.run(workers);

    for (int rank = 1; rank < workers; rank++) {
      assertArrayEquals(lossy.parameters(0), lossy.parameters(rank));
    }
    for (int i = 0; i < LAYOUT.length(); i++) {
      assertEquals(exact.parameters(0)[i], lossy.parameters(0)[i], 0.2, "element " + i);
    }
    assertTrue(
        workers == 1 || lossy.network.bytes() < exact.network.bytes() / 2,
        lossy.network.bytes() + " of " + exact.network.bytes());
  }

  @Test
  void shouldContinueWhenAWorkerDies() {
    SimulatedTraining training = training(2, 0, NetworkFaults.FREQUENT);
    training.network.kill(31_000_000, 0);
    training.network.regroup(120_000_000, 2, List.of(1, 2));

    training.run(3);

    assertArrayEquals(training.parameters(1), training.parameters(2));
    assertEquals(training.steps, training.replicas.get(1).updates());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "allreduce | {'exchange': {'compression': 'int8'}} | strategy.powerSgdRank is 2 with"
            + " exchange.compression \"int8\", expected 0",
        "allreduce | {'pipeline': {'stages': 2}} | strategy.powerSgdRank is 2 with a pipeline,"
            + " expected 0",
        "sync | {'exchange': {'compression': 'int8'}} | strategy.powerSgdRank is 2 with"
            + " exchange.compression \"int8\", expected 0",
        "sync | {'exchange': {'overlap': true}} | exchange.overlap is true with"
            + " strategy.powerSgdRank 2, expected false"
      })
  void shouldRefuseIncompatibleStrategies(String strategy, String more, String expected) {
    JsonObject json = new JsonObject(more.replace('\'', '"'));
    json.put("strategy", new JsonObject().put("name", strategy).put("powerSgdRank", 2));
    json.put("workers", new JsonObject().put("count", 2));
    JobConfig job = JobConfig.read("job.json", json);

    assertEquals(
        "job.json: " + expected,
        assertThrows(
                SettingsException.class,
                () -> StrategyProviders.configure(job, getClass().getClassLoader()))
            .getMessage());
  }

  private static List<Partition> partitions(int length) {
    List<Partition> partitions = new ArrayList<>();
    for (int first = 0; first < LAYOUT.trainable(); first += length) {
      int size = Math.min(length, LAYOUT.trainable() - first);
      partitions.add(new Partition(partitions.size(), first, size, Kind.TRAINABLE, 0));
    }
    return partitions;
  }

  /** Compresses a gradient and delivers it; returns the tensors by their first elements. */
  private static Map<Integer, Tensor> compress(PowerSgd compression, float[] gradient, int length) {
    Map<Integer, Tensor> tensors = new TreeMap<>();
    for (Partition partition : partitions(length)) {
      tensors.put(
          partition.first(), compression.compress(partition.first(), piece(gradient, partition)));
    }
    for (Partition partition : partitions(length)) {
      compression.delivered(partition.first(), partition.length());
    }
    return tensors;
  }

  private static FloatBuffer piece(float[] gradient, Partition partition) {
    return FloatBuffer.wrap(gradient, partition.first(), partition.length());
  }

  private static SimulatedTraining training(int rank, long directBytes, NetworkFaults faults) {
    SimulatedTraining training =
        new SimulatedTraining(
            StrategyProviders.named("allreduce", PowerSgdTest.class.getClassLoader()),
            "{\"powerSgdRank\": %d, \"directBytes\": %d, \"checkEvery\": 1}"
                .formatted(rank, directBytes),
            faults,
            5);
    training.layout = LAYOUT;
    training.length = LAYOUT.length();
    training.trainable = LAYOUT.trainable();
    training.pieceElements = 50;
    training.steps = 60;
    training.initialValue = 1;
    return training;
  }

  private static float[] sum(PowerSgd compression, float[] gradient) {
    float[] vector = gradient.clone();
    compression.sum(vector, ALONE, 0);
    compression.delivered(0, LAYOUT.trainable());
    return vector;
  }

  private static float[] withoutResidual(float[] memory) {
    float[] without = memory.clone();
    java.util.Arrays.fill(without, 0, LAYOUT.trainable(), 0);
    return without;
  }

  /** Returns a gradient whose matrix has a rank, and everything else at random. */
  private static float[] gradient(int rank, long seed) {
    Random random = new Random(seed);
    float[] gradient = new float[LAYOUT.length()];
    for (int i = 0; i < gradient.length; i++) {
      gradient[i] = (float) random.nextGaussian();
    }
    for (int i = 0; i < MATRIX; i++) {
      gradient[5 + i] = 0;
    }
    for (int r = 0; r < rank; r++) {
      double[] left = random.doubles(ROWS, -1, 1).toArray();
      double[] right = random.doubles(COLUMNS, -1, 1).toArray();
      for (int i = 0; i < MATRIX; i++) {
        gradient[5 + i] += (float) (left[i / COLUMNS] * right[i % COLUMNS]);
      }
    }
    return gradient;
  }

  private static void add(float[] sum, float[] summand) {
    for (int i = 0; i < sum.length; i++) {
      sum[i] += summand[i];
    }
  }

  private static double distance(float[] one, float[] other) {
    double sum = 0;
    for (int i = 0; i < one.length; i++) {
      sum += Math.pow(one[i] - other[i], 2);
    }
    return Math.sqrt(sum);
  }
}
