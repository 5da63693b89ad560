package io.vertigrad.testkit;

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
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.server.MagnitudeBound;
import io.vertigrad.internal.server.ParameterSource;
import io.vertigrad.internal.server.ParameterStore;
import io.vertigrad.internal.server.Shard;
import io.vertigrad.internal.server.ShardConfig;
import io.vertigrad.internal.server.StoreConfig;
import io.vertigrad.internal.server.StrategyObserver;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * A small job around the shards that run in production: its layout, its clock, and the frames that
 * its members send.
 */
public final class TestJob {

  /** What frames of this job carry as the job. */
  public static final long JOB = Addresses.hash("test");

  /** The learning rate of plain SGD, by which shards apply gradients. */
  public static final float LEARNING_RATE = 0.1f;

  /** How long a pull waits for its version. */
  public static final long PULL_DEADLINE_MILLIS = 20_000;

  /** The shards' clock. */
  public final FakeClock clock = new FakeClock();

  /** The partitions of the exchange vector, and which shard has which. */
  public final PartitionPlan plan;

  private final ParameterLayout layout;
  private final ServerStrategyFactory strategy;
  private final long steps;
  private final int workers;
  float learningRate = LEARNING_RATE;
  private float momentum;
  private StrategyObserver observer = StrategyObserver.SILENT;
  Supplier<DuplicateWindow> windows = () -> new DuplicateWindow(this.ranks);
  int ranks;

  /**
   * A job of one shard and one partition per 4 elements.
   *
   * @param strategy the strategy section of a job file, as JSON
   * @param trainable how many elements are trained
   * @param statistics how many running statistics follow them; they are subtracted as they are
   * @param steps steps of each worker
   * @param workers workers that take part
   * @throws IllegalArgumentException if the strategy does not know its settings
   */
  public TestJob(String strategy, int trainable, int statistics, long steps, int workers) {
    this(new JsonObject(strategy), trainable, statistics, steps, workers, 4, 1);
  }

  /**
   * A job of any number of shards.
   *
   * @param strategy the strategy section of a job file
   * @param trainable how many elements are trained
   * @param statistics how many running statistics follow them; they are subtracted as they are
   * @param steps steps of each worker
   * @param workers workers that take part
   * @param elements most elements of a partition
   * @param shards how many servers the partitions are spread over
   * @throws IllegalArgumentException if the strategy does not know its settings
   */
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
    StrategyProvider provider =
        StrategyProviders.named(settings.string("name", ""), TestJob.class.getClassLoader());
    if (!(provider.configure(settings) instanceof ServerStrategyFactory rule)) {
      throw new IllegalArgumentException(
          "strategy %s runs beside workers, expected one that runs beside servers"
              .formatted(provider.name()));
    }
    this.strategy = rule;
  }

  /**
   * Makes the first shard in its first incarnation.
   *
   * @return a shard without members
   */
  public TestShard shard() {
    return shard(0, 0);
  }

  /**
   * Makes a shard.
   *
   * @param index which one, from 0
   * @param incarnation how often its server has been started before
   * @return a shard without members, of version 0
   */
  public TestShard shard(int index, int incarnation) {
    return shard(incarnation, store(index), windows);
  }

  /**
   * Makes the parameters of a shard, for Vertigrad's own tests.
   *
   * @param index which shard, from 0
   * @return the first parameters
   */
  public ParameterStore store(int index) {
    StoreConfig store =
        new StoreConfig(plan, index, optimizer(), new QuadraticEngine(), 100, DataType.FLOAT32);
    return new ParameterStore(store, ParameterSource.of(FloatBuffer.wrap(initial())));
  }

  /**
   * Makes a shard of parameters that are there already, for Vertigrad's own tests.
   *
   * @param incarnation how often its server has been started before
   * @param store the parameters, the shard's from now on
   * @param windows what was dealt with, for one partition after the other
   * @return a shard without members
   */
  public TestShard shard(int incarnation, ParameterStore store, Supplier<DuplicateWindow> windows) {
    return new TestShard(
        new Shard(
            new ShardConfig(
                JOB,
                incarnation,
                ranks,
                lastVersion(),
                PULL_DEADLINE_MILLIS,
                new MagnitudeBound(1e9f)),
            store,
            strategy,
            clock,
            observer,
            windows));
  }

  private OptimizerConfig optimizer() {
    JsonObject section =
        new JsonObject().put("learningRate", learningRate).put("momentum", momentum);
    return OptimizerConfig.read(Settings.of("test.json", section));
  }

  /**
   * Lets shards that are made later apply gradients with momentum, by an engine on the class path.
   *
   * @param factor how much of the velocity is kept, from 0
   * @return this job
   */
  public TestJob withMomentum(float factor) {
    momentum = factor;
    return this;
  }

  /**
   * Lets shards that are made later know the ranks that the job is shared out to, as those of a job
   * file do: a round waits for each of them, and a replacement repeats its predecessor's step.
   *
   * @param count ranks 0 to {@code count - 1}
   * @return this job
   */
  public TestJob withRanks(int count) {
    ranks = count;
    return this;
  }

  /**
   * Lets shards that are made later report what their strategies do.
   *
   * @param listener is told on the calling thread
   * @return this job
   */
  public TestJob withObserver(StrategyObserver listener) {
    observer = listener;
    return this;
  }

  /**
   * Gives the parameters that shards start with: element i is {@code i / 8}.
   *
   * @return a new array, as long as the exchange vector
   */
  public float[] initial() {
    float[] initial = new float[layout.length()];
    for (int i = 0; i < initial.length; i++) {
      initial[i] = i / 8f;
    }
    return initial;
  }

  /**
   * Says at which version the job ends, according to the strategy.
   *
   * @return the last version of every partition
   */
  public long lastVersion() {
    return strategy.lastVersion(steps, workers);
  }

  /**
   * Gives the layout of the exchange vector.
   *
   * @return a block of trainable elements, and one of statistics if there are any
   */
  public ParameterLayout layout() {
    return layout;
  }

  /**
   * Says whether workers go step by step together, as the strategy's factory has it.
   *
   * @return true if newcomers have to agree on the round they begin with
   */
  public boolean lockstep() {
    return strategy.lockstep();
  }

  /**
   * Makes the membership of epoch 1: ranks 0 to n-1 in their first incarnation.
   *
   * @param count how many workers
   * @return the membership
   */
  public static Membership workers(int count) {
    return of(1, IntStream.range(0, count).toArray());
  }

  /**
   * Makes a membership of workers in their first incarnation.
   *
   * @param epoch its number, from 1
   * @param ranks the workers
   * @return the membership
   */
  public static Membership of(int epoch, int... ranks) {
    return new Membership(
        epoch, Arrays.stream(ranks).mapToObj(r -> new Member(r, 0, 0)).toList(), List.of());
  }

  /**
   * Makes the frame of a worker's gradient, of 10 samples.
   *
   * @param worker its rank; it is in its first incarnation
   * @param step the worker's step, from 0
   * @param part the partition
   * @param version of the parameters that the gradient belongs to
   * @param values the gradient, an element for each of the partition's
   * @return the frame
   */
  public GradientPartition gradient(
      int worker, long step, int part, long version, float... values) {
    return gradient(new ExchangeId(JOB, worker, 0, 1, step, part), version, 10, values);
  }

  /**
   * Makes the frame of a worker's gradient.
   *
   * @param id who sends it, at which step, for which partition
   * @param version of the parameters that the gradient belongs to
   * @param samples how many samples it is the mean of
   * @param values the gradient, an element for each of the partition's
   * @return the frame
   */
  public GradientPartition gradient(ExchangeId id, long version, int samples, float... values) {
    Partition partition = plan.partitions().get(id.partition());
    return new GradientPartition(
        id, layout.hash(), version, samples, partition.first(), Tensor.ofFloats(values));
  }

  /**
   * Makes the frame that asks for a partition's parameters.
   *
   * @param worker who asks; -1 is nobody who trains
   * @param step the asker's step
   * @param part the partition
   * @param minimumVersion the answer waits until the partition has reached it
   * @return the frame
   */
  public PullRequest pull(int worker, long step, int part, long minimumVersion) {
    return new PullRequest(
        new ExchangeId(JOB, worker, 0, 1, step, part), layout.hash(), minimumVersion);
  }

  /**
   * Reads the present parameters of one partition.
   *
   * @param shard the shard that has it
   * @param part the partition
   * @return a new array
   */
  public float[] parameters(TestShard shard, int part) {
    return values((ParameterPartition) shard.handle(pull(-1, 0, part, 0)).result());
  }

  /**
   * Copies the parameters out of an answer.
   *
   * @param answer what a shard answered
   * @return a new array, as long as the partition
   */
  public static float[] values(ParameterPartition answer) {
    float[] values = new float[answer.parameters().length()];
    answer.parameters().copyTo(values, 0);
    return values;
  }
}
