package io.vertigrad.strategies;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ErrorFeedback;
import io.vertigrad.codecs.GradientCompression;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.collective.AllReduce;
import io.vertigrad.collective.CompressedAllReduce;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.collective.LowRankAllReduce;
import io.vertigrad.collective.PowerSgd;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeTiming;
import io.vertigrad.strategy.GradientProgress;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.HexFormat;
import java.util.Optional;

/**
 * All-reduce: data parallelism as in DDP and Horovod. Every replica takes the same step with the
 * mean gradient {@code sum_i n_i g_i / sum_i n_i}, where n is the number of samples behind each
 * gradient.
 *
 * <p>Every {@link AllReduce} gives all workers the same bits, so all replicas stay equal; their
 * hashes are compared at intervals. Small vectors, and compressed ones, use the direct algorithm.
 * Differences of statistics are averaged the same way. All workers skip a mean that holds NaN or
 * infinity. A new group continues from the worker with the most steps, including its optimizer
 * state.
 */
final class AllReduceStrategy implements PeerStrategy {

  private final Config config;
  private final PeerContext context;
  private final Replica replica;
  private final Optimizer optimizer;

  /** Holds the gradient, then its sum, then its mean; the last element is the number of batches. */
  private final float[] sum;

  private final ErrorFeedback feedback;
  private final PowerSgd lowRank;
  private PeerGroup group;
  private AllReduce reduction;
  private long round;
  private ExchangeTiming timing = ExchangeTiming.NONE;

  AllReduceStrategy(Config config, PeerContext context) {
    this.config = config;
    this.context = context;
    this.replica = context.replica();
    this.optimizer = context.optimizers().apply(scaled(config, context));
    this.sum = new float[replica.length() + 1];
    this.feedback =
        context.compression().isOn()
            ? new ErrorFeedback(context.compression(), replica.trainable())
            : null;
    this.lowRank =
        config.powerSgdRank() > 0 ? new PowerSgd(replica.blocks(), config.powerSgdRank()) : null;
  }

  @Override
  public void open(PeerGroup now, boolean fresh) {
    group = now;
    reduction = reduction(now);
    float[] warmStart = lowRank == null ? new float[0] : lowRank.warmStart();
    new InitialSync(context, now).copyFurthest(fresh, optimizer, warmStart);
    if (lowRank != null) {
      lowRank.startWith(warmStart);
    }
    round = InitialSync.ROUNDS;
  }

  private AllReduce reduction(PeerGroup now) {
    if (feedback != null) {
      return new CompressedAllReduce(context, now, feedback, replica.trainable());
    }
    if (lowRank != null) {
      int length = lowRank.exchanged(replica.length());
      return new LowRankAllReduce(
          lowRank, AllReduce.of(context, now, length, config.directBytes()));
    }
    return AllReduce.of(context, now, replica.length(), config.directBytes());
  }

  @Override
  public Optional<float[]> gradientArray() {
    return Optional.of(sum);
  }

  /** Does nothing: only the gradient is exchanged. */
  @Override
  public void begin() {}

  @Override
  public boolean beginsWithParameters() {
    return false;
  }

  @Override
  public void complete(LocalGradient gradient) {
    long readyNanos = context.nanoClock().getAsLong();
    weigh(gradient, 0, replica.length());
    weighSamples(gradient);
    reduction.sum(round, sum);
    reduced(gradient, readyNanos, readyNanos);
  }

  /**
   * Sums the gradient while it is computed, then checks the whole mean for NaN and infinity before
   * taking a step.
   */
  @Override
  public void complete(LocalGradient gradient, GradientProgress progress) {
    weighSamples(gradient);
    WeighedProgress weighed = new WeighedProgress(gradient, progress);
    reduction.sum(round, sum, weighed);
    progress.await();
    reduced(gradient, weighed.firstNanos, weighed.lastNanos);
  }

  private void reduced(LocalGradient gradient, long begunNanos, long readyNanos) {
    if (group.size() > 1) {
      timing = timing.plus(begunNanos, readyNanos, context.peers().arrivedNanos());
    }
    step();
    check();
    round += reduction.rounds();
  }

  /** Weighs elements that become final before it reports them to the all-reduce. */
  private final class WeighedProgress implements GradientProgress {

    private final LocalGradient gradient;
    private final GradientProgress progress;
    private volatile long firstNanos = Long.MAX_VALUE;
    private volatile long lastNanos;

    WeighedProgress(LocalGradient gradient, GradientProgress progress) {
      this.gradient = gradient;
      this.progress = progress;
    }

    @Override
    public void await() {
      progress.await();
    }

    @Override
    public void follow(Follower follower) {
      follower.ready(replica.length(), sum.length);
      progress.follow(
          (first, end) -> {
            weigh(gradient, first, end);
            lastNanos = context.nanoClock().getAsLong();
            firstNanos = Math.min(firstNanos, lastNanos);
            follower.ready(first, end);
          });
    }
  }

  /** Returns the residual of this worker's compressed gradients. */
  @Override
  public float[] memory() {
    if (lowRank != null) {
      return lowRank.memory();
    }
    return feedback == null ? new float[0] : feedback.residual();
  }

  @Override
  public void restore(float[] memory) {
    compression().ifPresent(compression -> compression.restore(memory));
  }

  @Override
  public ExchangeTiming timing() {
    return timing;
  }

  @Override
  public double spectralGap() {
    return 1;
  }

  /** Weighs the gradient; a full batch weighs 1, so that narrow exchange types keep their range. */
  private void weigh(LocalGradient gradient, int first, int end) {
    float weight = weight(gradient);
    float[] values = gradient.values();
    if (values == sum && weight == 1) {
      return;
    }
    for (int i = first; i < end; i++) {
      sum[i] = weight * values[i];
    }
  }

  private void weighSamples(LocalGradient gradient) {
    float weight = weight(gradient);
    sum[replica.length()] = weight;
    compression().ifPresent(compression -> compression.weigh(weight));
  }

  private float weight(LocalGradient gradient) {
    return (float) gradient.samples() / context.batch();
  }

  private void step() {
    int length = replica.length();
    float weight = sum[length];
    AllReduce.divide(sum, 0, length, weight);
    double samples = (double) weight * context.batch();
    if (replica.step(optimizer, sum, samples)) {
      compression().ifPresent(compression -> compression.delivered(0, replica.trainable()));
    } else {
      // A mean that was skipped does not change what is left out.
      timing = timing.plusSkipped();
    }
  }

  private Optional<GradientCompression> compression() {
    return Optional.<GradientCompression>ofNullable(feedback)
        .or(() -> Optional.ofNullable(lowRank));
  }

  private void check() {
    if (config.checkEvery() > 0 && replica.updates() % config.checkEvery() == 0) {
      compareReplicas();
    }
  }

  /**
   * Compares this worker's parameters with its left neighbour's by hash. If all comparisons around
   * the ring agree, all replicas are equal.
   *
   * @throws ExchangeException naming both workers and the step when they differ
   */
  private void compareReplicas() {
    if (group.size() == 1) {
      return;
    }
    TensorView mine = hash(replica.parameters());
    Tag tag = new Tag(round + reduction.rounds() - 1, reduction.phases(), 0);
    context.peers().send(group.right(), tag, mine);
    TensorView theirs = context.peers().receive(group.left(), tag);
    if (!theirs.equals(mine)) {
      throw new ExchangeException(
          ("after step %s the parameters of worker %s (hash %s) differ from those of worker %s"
                  + " (hash %s), expected equal bits; do all nodes run the same version on the same"
                  + " kind of processor?")
              .formatted(
                  replica.updates(), group.self(), shown(mine), group.left(), shown(theirs)));
    }
  }

  private static Tensor hash(float[] parameters) {
    TensorView all = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(parameters));
    long hash = 0xcbf29ce484222325L;
    ByteBuffer bytes = all.bytes();
    while (bytes.hasRemaining()) {
      hash = (hash ^ bytes.getInt()) * 0x100000001b3L;
      hash ^= hash >>> 32;
    }
    return Tensor.wrap(DataType.FLOAT32, ByteBuffer.allocate(Long.BYTES).putLong(0, hash));
  }

  private static String shown(TensorView hash) {
    byte[] bytes = new byte[hash.payloadBytes()];
    hash.bytes().get(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  private static OptimizerConfig scaled(Config config, PeerContext context) {
    OptimizerConfig optimizer = context.optimizer();
    return config.scaleLearningRate()
        ? optimizer.withLearningRate(optimizer.learningRate() * context.workers())
        : optimizer;
  }

  /**
   * The strategy's section of a job file.
   *
   * @param scaleLearningRate multiply the learning rate by {@code workers.count}, as Horovod does
   * @param checkEvery number of steps between two comparisons of all replicas by hash; 0 for none
   * @param directBytes vectors up to this size use the direct algorithm instead of the ring
   * @param powerSgdRank rank of the approximation of each array's gradient; 0 for the gradient
   *     itself
   */
  record Config(boolean scaleLearningRate, long checkEvery, long directBytes, int powerSgdRank) {

    static final int MOST_RANK = 256;

    static Config read(Settings settings) {
      Config config =
          new Config(
              settings.flag("scaleLearningRate", false),
              settings.longInteger("checkEvery", 100, 0, Long.MAX_VALUE),
              settings.longInteger("directBytes", AllReduce.DIRECT_BYTES, 0, Long.MAX_VALUE),
              settings.integer("powerSgdRank", 0, 0, MOST_RANK));
      settings.refuseUnknown();
      return config;
    }

    private void check(JobConfig job) {
      requireAlone(powerSgdRank, job);
    }

    /** Refuses PowerSGD together with a pipeline or another compression. */
    static void requireAlone(int powerSgdRank, JobConfig job) {
      String found =
          job.pipeline().isPresent()
              ? "a pipeline"
              : "exchange.compression \"%s\"".formatted(job.exchange().compression());
      if (powerSgdRank > 0 && (job.pipeline().isPresent() || job.exchange().compression().isOn())) {
        throw job.settings()
            .section("strategy")
            .refuse("powerSgdRank", "is %s with %s, expected 0".formatted(powerSgdRank, found));
      }
    }
  }

  /** Registers the strategy as {@code allreduce}. */
  public static final class Provider implements StrategyProvider {

    @Override
    public String name() {
      return "allreduce";
    }

    @Override
    public StrategyFactory configure(Settings settings) {
      Optional<Hierarchy> hierarchy = Hierarchy.read(settings, false);
      Config config = Config.read(settings);
      if (hierarchy.isPresent()) {
        hierarchy.get().refuse(settings, "powerSgdRank", config.powerSgdRank() > 0);
        hierarchy.get().refuse(settings, "scaleLearningRate", config.scaleLearningRate());
        return hierarchy.get().factory();
      }
      // Error feedback makes up for what compression leaves out.
      return StrategyFactory.besideWorkers(
              StrategyTraits.atWorkers(Rounds.EVERY_RANK).agreeingEvery(1).compressing(),
              context -> new AllReduceStrategy(config, context))
          .checking(config::check);
    }
  }
}
