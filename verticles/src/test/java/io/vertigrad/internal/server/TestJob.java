package io.vertigrad.internal.server;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.fixture.QuadraticEngine;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.job.Partition;
import io.vertigrad.job.PartitionPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyObserver;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/** A small job around real shards: its layout, and the frames its members send. */
public final class TestJob {

  public static final long JOB = Addresses.hash("test");
  public static final float LEARNING_RATE = 0.1f;
  public static final long PULL_DEADLINE_MILLIS = 20_000;

  public final FakeClock clock = new FakeClock();
  public final PartitionPlan plan;
  private final ParameterLayout layout;
  private final StrategyFactory strategy;
  private final long steps;
  private final int workers;
  float learningRate = LEARNING_RATE;
  float momentum;
  StrategyObserver observer = StrategyObserver.SILENT;
  Supplier<DuplicateWindow> windows = DuplicateWindow::new;

  /** A job of one shard and one partition per 4 elements. */
  public TestJob(String strategy, int trainable, int statistics, long steps, int workers) {
    this(new JsonObject(strategy), trainable, statistics, steps, workers, 4, 1);
  }

  public TestJob(
      JsonObject strategy,
      int trainable,
      int statistics,
      long steps,
      int workers,
      int elements,
      int shards) {
    List<Block> blocks = new ArrayList<>();
    blocks.add(new Block("w", List.of(trainable), Block.Kind.TRAINABLE));
    if (statistics > 0) {
      blocks.add(new Block("mean", List.of(statistics), Block.Kind.STATISTIC));
    }
    this.layout = new ParameterLayout(blocks);
    this.plan = PartitionPlan.of(layout, elements, shards);
    this.steps = steps;
    this.workers = workers;
    Settings settings = Settings.of("test.json", strategy);
    this.strategy =
        StrategyProviders.named(settings.string("name", ""), TestJob.class.getClassLoader())
            .configure(settings);
  }

  /** The only shard, empty of members. */
  public Shard shard() {
    return shard(0, 0);
  }

  public Shard shard(int index, int incarnation) {
    float[] initial = initial();
    StoreConfig store =
        new StoreConfig(plan, index, optimizer(), new QuadraticEngine(), 100, DataType.FLOAT32);
    return new Shard(
        new ShardConfig(JOB, incarnation, lastVersion(), PULL_DEADLINE_MILLIS),
        new ParameterStore(store, ParameterSource.of(FloatBuffer.wrap(initial))),
        strategy,
        clock,
        observer,
        windows);
  }

  private OptimizerConfig optimizer() {
    JsonObject section =
        new JsonObject().put("learningRate", learningRate).put("momentum", momentum);
    return OptimizerConfig.read(Settings.of("test.json", section));
  }

  /** Element i starts at {@code i / 8}. */
  public float[] initial() {
    float[] initial = new float[layout.length()];
    for (int i = 0; i < initial.length; i++) {
      initial[i] = i / 8f;
    }
    return initial;
  }

  public long lastVersion() {
    return strategy.lastVersion(steps, workers);
  }

  public ParameterLayout layout() {
    return layout;
  }

  public boolean lockstep() {
    return strategy.lockstep();
  }

  /** Ranks 0 to n-1 in their first incarnation. */
  public static Membership workers(int count) {
    return of(1, java.util.stream.IntStream.range(0, count).toArray());
  }

  /** These ranks in their first incarnation. */
  public static Membership of(int epoch, int... ranks) {
    return new Membership(
        epoch, Arrays.stream(ranks).mapToObj(r -> new Member(r, 0, 0)).toList(), List.of());
  }

  public GradientPartition gradient(
      int worker, long step, int part, long version, float... values) {
    return gradient(new ExchangeId(JOB, worker, 0, 1, step, part), version, 10, values);
  }

  public GradientPartition gradient(ExchangeId id, long version, int samples, float... values) {
    Partition partition = plan.partitions().get(id.partition());
    return new GradientPartition(
        id, layout.hash(), version, samples, partition.first(), Tensor.ofFloats(values));
  }

  public PullRequest pull(int worker, long step, int part, long minimumVersion) {
    return new PullRequest(
        new ExchangeId(JOB, worker, 0, 1, step, part), layout.hash(), minimumVersion);
  }

  /** The current parameters of one partition. */
  public float[] parameters(Shard shard, int part) {
    return values((ParameterPartition) shard.handle(pull(-1, 0, part, 0)).result());
  }

  public static float[] values(ParameterPartition answer) {
    float[] values = new float[answer.parameters().length()];
    answer.parameters().copyTo(values, 0);
    return values;
  }
}
