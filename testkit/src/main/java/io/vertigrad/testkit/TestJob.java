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
import io.vertigrad.internal.exchange.PartitionPlan;
import io.vertigrad.internal.shard.ParameterStore;
import io.vertigrad.internal.shard.ParameterStore.ParameterSource;
import io.vertigrad.internal.shard.ParameterStore.StoreConfig;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.internal.shard.Shard.ShardConfig;
import io.vertigrad.internal.shard.UpdateOutcomes;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * A small job for the shards that run in production: its layout, its clock, and the frames that its
 * members send.
 */
public final class TestJob {

  /** The job's hash in frames of this job. */
  public static final long JOB = Addresses.hash("test");

  /** The learning rate of the plain SGD with which shards apply gradients. */
  public static final float LEARNING_RATE = 0.1f;

  /** The longest time that a pull waits for its version. */
  public static final long PULL_DEADLINE_MILLIS = 20_000;

  /** The shards' clock. */
  public final FakeClock clock = new FakeClock();

  /** The partitions of the exchange vector and their shards. */
  public final PartitionPlan plan;

  private final ParameterLayout layout;
  private final String name;
  private final StrategyFactory strategy;
  private final long steps;
  private final int workers;
  private UnaryOperator<ServerStrategy> rules = rule -> rule;
  float learningRate = LEARNING_RATE;
  private float momentum;

  /** Asks a shard for its part of a sum, for another shard. */
  BiFunction<Integer, Long, Future<double[]>> sums = this::partOfSum;

  private final Map<Integer, Shard> shards = new HashMap<>();
  private int lostSums;
  Supplier<PartitionLedger> ledgers = () -> new PartitionLedger(this.ranks);
  int ranks;

  /**
   * Creates a job of one shard, with one partition per 4 elements.
   *
   * @param strategy the strategy section of a job file, as JSON
   * @param trainable number of trainable elements
   * @param statistics number of running statistics after them; their gradients are subtracted
   *     unchanged
   * @param steps number of steps of each worker
   * @param workers number of workers
   * @throws IllegalArgumentException if the strategy does not know its settings
   */
  public TestJob(String strategy, int trainable, int statistics, long steps, int workers) {
    this(new JsonObject(strategy), trainable, statistics, steps, workers, 4, 1);
  }

  /**
   * Creates a job of any number of shards.
   *
   * @param strategy the strategy section of a job file
   * @param trainable number of trainable elements
   * @param statistics number of running statistics after them; their gradients are subtracted
   *     unchanged
   * @param steps number of steps of each worker
   * @param workers number of workers
   * @param elements largest number of elements of a partition
   * @param shards number of servers that the partitions are distributed over
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
    this.name = settings.string("name", "");
    this.strategy = provider.configure(settings);
    if (!this.strategy.traits().besideServers()) {
      throw new IllegalArgumentException(
          "strategy %s runs beside workers, expected one that runs beside servers"
              .formatted(provider.name()));
    }
  }

  /**
   * Creates the first shard in its first incarnation.
   *
   * @return a shard without members
   */
  public TestShard shard() {
    return shard(0, 0);
  }

  /**
   * Creates a shard.
   *
   * @param index of the shard, from 0
   * @param incarnation number of times that its server was started before
   * @return a shard without members, of version 0
   */
  public TestShard shard(int index, int incarnation) {
    return shard(incarnation, store(index), ledgers);
  }

  /**
   * Creates the parameters of a shard, for Vertigrad's own tests.
   *
   * @param index of the shard, from 0
   * @return the initial parameters
   */
  public ParameterStore store(int index) {
    StoreConfig store =
        new StoreConfig(plan, index, optimizer(), new QuadraticEngine(), 100, DataType.FLOAT32);
    return new ParameterStore(store, ParameterSource.of(FloatBuffer.wrap(initial())));
  }

  /**
   * Creates a shard with given parameters, for Vertigrad's own tests.
   *
   * @param incarnation number of times that its server was started before
   * @param store the parameters; the shard takes ownership
   * @param ledgers creates the ledger of processed updates of each partition
   * @return a shard without members
   */
  public TestShard shard(int incarnation, ParameterStore store, Supplier<PartitionLedger> ledgers) {
    StrategyFactory factory =
        StrategyFactory.besideServers(
            strategy.traits(), context -> rules.apply(strategy.create(context)));
    return shard(
        incarnation, store, ledgers, takesNotFinite() ? factory.takingNotFinite() : factory);
  }

  /**
   * Creates a shard with other rules than those of the job's strategy, for Vertigrad's own tests.
   *
   * @param incarnation number of times that its server was started before
   * @param store the parameters; the shard takes ownership
   * @param ledgers creates the ledger of processed updates of each partition
   * @param factory creates the rules
   * @return a shard without members
   */
  public TestShard shard(
      int incarnation,
      ParameterStore store,
      Supplier<PartitionLedger> ledgers,
      StrategyFactory factory) {
    Shard shard =
        new Shard(
            new ShardConfig(
                JOB, name, incarnation, ranks, lastVersion(), PULL_DEADLINE_MILLIS, 1e9f),
            store,
            factory,
            clock,
            new UpdateOutcomes(store.shard(), clock, refused -> {}),
            ledgers);
    shard.sums().connect((other, number) -> sums.apply(other, number), () -> {});
    shards.put(store.shard(), shard);
    return new TestShard(shard);
  }

  private Future<double[]> partOfSum(int shard, long number) {
    if (lostSums > 0) {
      lostSums--;
      return Future.failedFuture("no answer");
    }
    return shards.containsKey(shard)
        ? shards.get(shard).sums().ofShard(number)
        : Future.failedFuture("no server");
  }

  /**
   * Loses the next messages in which shards of this job ask each other for parts of a sum. They ask
   * again at the next {@link TestShard#tick}. The last shard that was created for an index answers.
   *
   * @param count number of messages to lose
   * @return this job
   */
  public TestJob losingSums(int count) {
    lostSums = count;
    return this;
  }

  /**
   * Returns whether rounds need sums over all partitions, according to the strategy's factory.
   *
   * @return true if the partitions of a round wait for each other
   */
  boolean sumsPartitions() {
    return strategy.traits().sumsPartitions();
  }

  /**
   * Returns whether the strategy leaves out updates that are not finite by itself.
   *
   * @return false if shards refuse them
   */
  boolean takesNotFinite() {
    return strategy.takesNotFinite();
  }

  private OptimizerConfig optimizer() {
    JsonObject section =
        new JsonObject().put("learningRate", learningRate).put("momentum", momentum);
    return OptimizerConfig.read(Settings.of("test.json", section));
  }

  /**
   * Makes shards that are created later apply gradients with momentum. Needs an engine on the class
   * path that computes it.
   *
   * @param factor fraction of the velocity that is kept, from 0
   * @return this job
   */
  public TestJob withMomentum(float factor) {
    momentum = factor;
    return this;
  }

  /**
   * Puts a rule of the test around that of each partition, in shards that are created later.
   *
   * @param around returns a rule for the strategy's own, or throws
   * @return this job
   */
  public TestJob withRules(UnaryOperator<ServerStrategy> around) {
    rules = around;
    return this;
  }

  /**
   * Gives shards that are created later the number of ranks that the job's work is divided among,
   * as a job file does. A round then waits for each of these ranks, and a replacement repeats its
   * predecessor's step.
   *
   * @param count ranks 0 to {@code count - 1}
   * @return this job
   */
  public TestJob withRanks(int count) {
    ranks = count;
    return this;
  }

  /**
   * Returns the initial parameters of shards: element i is {@code i / 8}.
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
   * Returns the version at which the job ends, according to the strategy.
   *
   * @return the last version of every partition
   */
  public long lastVersion() {
    return strategy.traits().lastVersion(steps, workers);
  }

  /**
   * Returns the layout of the exchange vector.
   *
   * @return a block of trainable elements, and one of statistics if there are any
   */
  public ParameterLayout layout() {
    return layout;
  }

  /**
   * Returns whether workers move in rounds, according to the strategy's factory.
   *
   * @return true if newcomers have to agree on their first round
   */
  public boolean lockstep() {
    return strategy.traits().lockstep();
  }

  /**
   * Creates the membership of epoch 1: ranks 0 to n-1 in their first incarnation.
   *
   * @param count number of workers
   * @return the membership
   */
  public static Membership workers(int count) {
    return of(1, IntStream.range(0, count).toArray());
  }

  /**
   * Creates a membership of workers in their first incarnation.
   *
   * @param epoch its number, from 1
   * @param ranks of the workers
   * @return the membership
   */
  public static Membership of(int epoch, int... ranks) {
    return new Membership(
        epoch, Arrays.stream(ranks).mapToObj(r -> new Member(r, 0, 0)).toList(), List.of());
  }

  /**
   * Creates the frame of a worker's gradient of 10 samples.
   *
   * @param worker rank of the worker, in its first incarnation
   * @param step the worker's step, from 0
   * @param part the partition
   * @param version of the parameters that the gradient was computed at
   * @param values the gradient, as many elements as the partition
   * @return the frame
   */
  public GradientPartition gradient(
      int worker, long step, int part, long version, float... values) {
    return gradient(new ExchangeId(JOB, worker, 0, 1, step, part), version, 10, values);
  }

  /**
   * Creates the frame of a worker's gradient.
   *
   * @param id the sender, its step and the partition
   * @param version of the parameters that the gradient was computed at
   * @param samples number of samples that it is the mean of
   * @param values the gradient, as many elements as the partition
   * @return the frame
   */
  public GradientPartition gradient(ExchangeId id, long version, int samples, float... values) {
    Partition partition = plan.partitions().get(id.partition());
    return new GradientPartition(
        id, layout.hash(), version, samples, partition.first(), Tensor.ofFloats(values));
  }

  /**
   * Creates the frame that requests a partition's parameters.
   *
   * @param worker rank of the sender; -1 for a sender that does not train
   * @param step the sender's step
   * @param part the partition
   * @param minimumVersion the server answers once the partition has reached this version
   * @return the frame
   */
  public PullRequest pull(int worker, long step, int part, long minimumVersion) {
    return new PullRequest(
        new ExchangeId(JOB, worker, 0, 1, step, part), layout.hash(), minimumVersion);
  }

  /**
   * Reads the current parameters of one partition.
   *
   * @param shard the shard that holds it
   * @param part the partition
   * @return a new array
   */
  public float[] parameters(TestShard shard, int part) {
    return values((ParameterPartition) shard.handle(pull(-1, 0, part, 0)).result());
  }

  /**
   * Copies the parameters out of an answer.
   *
   * @param answer of a shard
   * @return a new array, as long as the partition
   */
  public static float[] values(ParameterPartition answer) {
    float[] values = new float[answer.parameters().length()];
    answer.parameters().copyTo(values, 0);
    return values;
  }
}
