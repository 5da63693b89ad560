package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.owndata.LiarsCase.Lie;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.compute.data.SplitMix64;
import io.vertigrad.job.Partition;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertigrad.testkit.attack.Attack;
import io.vertx.core.Future;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/**
 * Trains with liars on one thread: liars that know what the honest workers send cannot be workers
 * of a job. The gradients are those of the engine {@code dl4j}. The rounds are those of a server's
 * shard with the strategy {@code robust}, as in a job: the same frames, partitions, reduction and
 * optimizer. Only the workers, their momentum and the network between them are simulated.
 *
 * <p>The first 20 workers are honest. With liars, the samples are sorted by label and cut into 20
 * equal parts, one for each of them; liars draw from all samples. Without, all workers have equal
 * shares of the shuffled samples. Workers send {@code m <- 0.9 m + 0.1 g}, and so do liars that
 * flip bits or labels.
 */
final class LiarsSimulation {

  private static final int BATCH = 32;
  private static final int TEST_BATCH = 500;
  private static final int PARTITION_ELEMENTS = 114_432;

  /** The published rate 0.01 is that of a momentum {@code m <- 0.9 m + g}, ten times as long. */
  private static final double RATE = 0.01 / (1 - LiarsCase.MOMENTUM);

  private final Dataset train;
  private final Dataset test;
  private final LiarsCase of;
  private final long seed;
  private final int rounds;

  /**
   * Prepares a run.
   *
   * @param train training samples, with classes
   * @param test test samples
   * @param of what is reduced how
   * @param seed seed of the initial parameters, the batches and the attacks
   * @param rounds number of rounds
   */
  LiarsSimulation(Dataset train, Dataset test, LiarsCase of, long seed, int rounds) {
    this.train = train;
    this.test = test;
    this.of = of;
    this.seed = seed;
    this.rounds = rounds;
  }

  /** Trains, and returns the accuracy on the whole test set in percent. Blocks for minutes. */
  double accuracy() {
    ModelConfig config =
        new ModelConfig(
            LeNetFactory.class.getName(),
            Map.of(
                LeNetFactory.FIRST,
                LiarsCase.CHANNELS,
                LeNetFactory.SECOND,
                2 * LiarsCase.CHANNELS),
            train.shape(),
            train.classes(),
            seed,
            1);
    try (Model model = Engine.named(Engine.USUAL).model(config)) {
      return trained(model);
    }
  }

  private double trained(Model model) {
    int length = model.layout().length();
    float[] parameters = new float[length];
    model.readParameters(0, FloatBuffer.wrap(parameters));
    TestJob job =
        new TestJob(of.strategy(), length, 0, rounds, LiarsCase.WORKERS, PARTITION_ELEMENTS, 1)
            .withRanks(LiarsCase.WORKERS);
    TestShard shard = RobustRounds.shard(job, parameters, RATE, LiarsCase.WORKERS);
    List<WorkerSamples> samples = samples();
    float[][] sent = new float[LiarsCase.WORKERS][length];
    Optional<Attack> attack = of.lie().attack();
    float[] gradient = new float[length];
    for (int round = 0; round < rounds; round++) {
      for (int rank = 0; rank < LiarsCase.WORKERS; rank++) {
        if (rank < honest() || of.lie().needsOwn()) {
          model.gradient(samples.get(rank).next(BATCH));
          model.readGradient(0, FloatBuffer.wrap(gradient));
          keepMomentum(sent[rank], gradient);
        }
      }
      exchange(job, shard, round, attacked(sent, attack, round), parameters);
      model.writeParameters(0, FloatBuffer.wrap(parameters));
    }
    return score(model).accuracy();
  }

  private int honest() {
    return of.lie() == Lie.NONE ? LiarsCase.WORKERS : LiarsCase.WORKERS - LiarsCase.LIARS;
  }

  private static void keepMomentum(float[] momentum, float[] gradient) {
    float kept = (float) LiarsCase.MOMENTUM;
    for (int i = 0; i < momentum.length; i++) {
      momentum[i] = kept * momentum[i] + (1 - kept) * gradient[i];
    }
  }

  /** Returns what all workers send; liars that do not look at their own updates send the same. */
  private float[][] attacked(float[][] own, Optional<Attack> attack, long round) {
    float[][] all = own.clone();
    List<float[]> honest = Arrays.asList(own).subList(0, honest());
    for (int rank = honest(); rank < own.length && attack.isPresent(); rank++) {
      all[rank] =
          rank == honest() || of.lie().needsOwn()
              ? attack.get().update(own[rank], honest, round)
              : all[honest()];
    }
    return all;
  }

  /** Sends every worker's update to the shard, and reads the parameters that it answers. */
  private static void exchange(
      TestJob job, TestShard shard, long round, float[][] updates, float[] parameters) {
    List<Future<Frame>> last = new ArrayList<>();
    for (int rank = 0; rank < updates.length; rank++) {
      last.clear();
      for (Partition part : job.plan.partitions()) {
        int first = part.first();
        float[] values = Arrays.copyOfRange(updates[rank], first, first + part.length());
        ExchangeId id = new ExchangeId(TestJob.JOB, rank, 0, 1, round, part.index());
        last.add(shard.handle(job.gradient(id, round, BATCH, values)));
      }
    }
    for (int i = 0; i < last.size(); i++) {
      if (!(last.get(i).result() instanceof ParameterPartition answer)
          || answer.outcome() != Outcome.APPLIED) {
        throw new IllegalStateException(
            "round %s, partition %s: expected new parameters, found %s; %s"
                .formatted(round, i, last.get(i).result(), shard.failure()));
      }
      answer.parameters().copyTo(parameters, job.plan.partitions().get(i).first());
    }
  }

  private List<WorkerSamples> samples() {
    int honest = honest();
    int[] shuffled = new SplitMix64(seed, -1).permutation(train.size());
    int[] sorted =
        Arrays.stream(shuffled)
            .boxed()
            .sorted(Comparator.comparingInt(train::label))
            .mapToInt(Integer::intValue)
            .toArray();
    int[] divided = of.lie() == Lie.NONE ? shuffled : sorted;
    IntUnaryOperator believed = label -> of.lie().label(label, train.classes());
    return IntStream.range(0, LiarsCase.WORKERS)
        .mapToObj(
            rank ->
                rank < honest
                    ? new WorkerSamples(train, part(divided, rank, honest), y -> y, seed, rank)
                    : new WorkerSamples(train, shuffled, believed, seed, rank))
        .toList();
  }

  private static int[] part(int[] samples, int rank, int ranks) {
    int from = (int) ((long) samples.length * rank / ranks);
    int to = (int) ((long) samples.length * (rank + 1) / ranks);
    return Arrays.copyOfRange(samples, from, to);
  }

  private Score score(Model model) {
    Score sum = Score.NONE;
    for (Batch batch : SequentialBatches.all(test, TEST_BATCH)) {
      sum = sum.plus(model.score(batch));
    }
    return sum;
  }
}
