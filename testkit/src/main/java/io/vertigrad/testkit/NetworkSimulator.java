package io.vertigrad.testkit;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.ParameterPartition.Outcome;
import io.vertigrad.codecs.PullRequest;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.LedgerSnapshot;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.shard.PartitionLedger;
import io.vertigrad.internal.shard.Shard;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Simulates a whole job with a fake clock and a seed: workers, network and coordinator are
 * simulated, the shards are those that run in production. The same arguments give the same run,
 * frame by frame.
 *
 * <p>A job has three partitions and six steps of plain SGD at learning rate 1. A part of a worker's
 * gradient depends on the parameters. In addition every update has one element of its own with
 * gradient 1. With a strategy that sums updates, this element counts how often the update was
 * applied; {@link #requireAppliedAtMostOnce()} and {@link #requireTrueAnswers()} check it. With
 * other strategies, compare {@link #parameters()} with those of a run under {@link
 * NetworkConditions#RELIABLE}.
 */
public final class NetworkSimulator {

  private static final int PARTITIONS = 3;
  private static final int STEPS = 6;
  private static final long LIMIT_MILLIS = 600_000;
  private static final long SUM_RETRY_MILLIS = 2_000;

  private final NetworkConditions conditions;
  private final int workers;
  private final long seed;
  private final UpdateSlots slots;
  private final TestJob job;
  private final SimulatedNetwork network;
  private final SimulatedCoordinator coordinator = new SimulatedCoordinator(this);
  private final List<TestShard> shards = new ArrayList<>();
  private final int[] incarnations;
  private final Checkpoint[] snapshots;
  private final Map<Integer, SimulatedWorker> alive = new TreeMap<>();
  private final List<SimulatedWorker> everyone = new ArrayList<>();
  private final List<ParameterPartition> answers = new ArrayList<>();
  private final TensorMemory memory = new TensorMemory();
  private final List<NavigableMap<Long, Checkpoint>> kept = new ArrayList<>();
  private final PlantedFault fault;
  private final int[][] cuts;
  private int pendingFaults;

  /**
   * Prepares a run.
   *
   * @param strategy the strategy section of a job file, as JSON
   * @param workers number of workers, at least 1
   * @param shardCount number of servers that the three partitions are distributed over, from 1 to 3
   * @param conditions faults of the network and of members
   * @param seed of all random choices
   */
  public NetworkSimulator(
      String strategy, int workers, int shardCount, NetworkConditions conditions, long seed) {
    this(strategy, workers, shardCount, conditions, seed, PlantedFault.NONE);
  }

  NetworkSimulator(
      String strategy,
      int workers,
      int shardCount,
      NetworkConditions conditions,
      long seed,
      PlantedFault fault) {
    this.fault = fault;
    this.conditions = conditions;
    this.workers = workers;
    this.seed = seed;
    this.slots = new UpdateSlots(workers);
    int length = slots.length();
    this.job =
        new TestJob(
            new JsonObject(strategy), PARTITIONS * length, 0, STEPS, workers, length, shardCount);
    job.learningRate = 1;
    job.ledgers = ledger(fault, workers);
    job.ranks = workers;
    this.network = new SimulatedNetwork(job.clock, conditions, seed);
    job.sums = this::askForSum;
    this.incarnations = new int[shardCount];
    this.snapshots = new Checkpoint[shardCount];
    this.cuts = new int[workers][shardCount];
    for (int shard = 0; shard < shardCount; shard++) {
      shards.add(job.shard(shard, 0));
      snapshots[shard] = shards.get(shard).internal().snapshot();
      kept.add(new TreeMap<>(Map.of(0L, snapshots[shard])));
    }
  }

  private static Supplier<PartitionLedger> ledger(PlantedFault fault, int ranks) {
    return fault == PlantedFault.NO_DEDUPLICATION
        ? () -> new ForgetfulLedger(ranks)
        : () -> new PartitionLedger(ranks);
  }

  /** A ledger that recognises no duplicate. */
  private static final class ForgetfulLedger extends PartitionLedger {

    ForgetfulLedger(int ranks) {
      super(ranks);
    }

    @Override
    public boolean isSettled(ExchangeId id) {
      return false;
    }
  }

  /**
   * Trains to the end.
   *
   * @return this, when every worker has received the last version
   * @throws AssertionError if that takes more than 600 simulated seconds; the message names each
   *     worker and what it waits for
   */
  public NetworkSimulator run() {
    coordinator.start(workers);
    tick();
    for (int i = 0; i < conditions.workerDeaths(); i++) {
      plan(this::killWorker);
    }
    for (int i = 0; i < conditions.serverCrashes(); i++) {
      plan(this::crashServer);
    }
    for (int i = 0; i < conditions.cuts(); i++) {
      plan(this::cut);
    }
    for (int i = 0; i < conditions.workerStops(); i++) {
      plan(this::stopWorker);
    }
    network.runUntil(this::isOver, LIMIT_MILLIS, () -> everyone.toString());
    return this;
  }

  /**
   * Returns the job, for its layout and initial parameters.
   *
   * @return the job that is trained
   */
  public TestJob job() {
    return job;
  }

  UpdateSlots slots() {
    return slots;
  }

  SimulatedNetwork network() {
    return network;
  }

  int epoch() {
    return coordinator.epoch();
  }

  int shards() {
    return shards.size();
  }

  TestShard shard(int index) {
    return shards.get(index);
  }

  /** Sends a frame to the server of its partition, and the answer back, through the network. */
  void toShard(int partition, Frame frame, Consumer<Frame> receiver) {
    int index = job.plan.partitions().get(partition).shard();
    int incarnation = incarnations[index];
    int[] cut = cuts[rankOf(frame)];
    network.send(
        () -> {
          if (incarnations[index] == incarnation && cut[index] == 0) {
            lend(admitted(frame), lent -> shard(index).handle(lent))
                .onSuccess(answer -> back(index, incarnation, cut, answer, receiver));
            keep(index);
          }
        });
  }

  /** Asks a shard for its part of a sum through the network; fails without an answer. */
  private Future<double[]> askForSum(int index, long number) {
    int incarnation = incarnations[index];
    Promise<double[]> answer = Promise.promise();
    network.send(
        () -> {
          if (incarnations[index] == incarnation) {
            shard(index)
                .internal()
                .sums()
                .ofShard(number)
                .onSuccess(sum -> network.send(() -> answer.tryComplete(sum)));
          }
        });
    network.after(SUM_RETRY_MILLIS, () -> answer.tryFail("no answer"));
    return answer.future();
  }

  /**
   * Returns true at random with the planted fault by which workers treat unacknowledged updates as
   * delivered.
   */
  boolean treatsAsDelivered() {
    return fault == PlantedFault.LOST_ACKNOWLEDGEMENT && network.random(10) == 0;
  }

  /**
   * Returns the frame that the server receives: with fencing the frame itself, without it a frame
   * with the expected incarnation.
   */
  private Frame admitted(Frame frame) {
    if (fault != PlantedFault.NO_FENCING || !(frame instanceof GradientPartition update)) {
      return frame;
    }
    ExchangeId id = update.id();
    int known = coordinator.incarnation(id.worker());
    int expected = known < 0 ? id.incarnation() : known;
    return new GradientPartition(
        new ExchangeId(id.job(), id.worker(), expected, id.epoch(), id.step(), id.partition()),
        update.layout(),
        update.version(),
        update.samples(),
        update.firstElement(),
        update.gradient());
  }

  private static int rankOf(Frame frame) {
    return frame instanceof GradientPartition update
        ? update.id().worker()
        : ((PullRequest) frame).id().worker();
  }

  /** Stores a server's snapshot of a round that has ended everywhere, if workers move in rounds. */
  private void keep(int index) {
    Shard served = shard(index).internal();
    if (conditions.serverCrashes() > 0 && served.movesInRounds() && served.isAligned()) {
      boolean isNew = !kept.get(index).containsKey(served.version());
      if (isNew && network.random(3) > 0) {
        kept.get(index).put(served.version(), served.snapshot());
      }
    }
  }

  /** Restores all servers to the newest version that each of them has stored. */
  void restoreAllServers() {
    NavigableSet<Long> common = new TreeSet<>(kept.get(0).keySet());
    kept.forEach(some -> common.retainAll(some.keySet()));
    for (int index = 0; index < shards(); index++) {
      restart(index, kept.get(index).get(common.last()));
      kept.get(index).tailMap(common.last(), false).clear();
    }
    restartWorkers();
  }

  void startWorker(Member member) {
    SimulatedWorker worker = new SimulatedWorker(this, member);
    alive.put(member.rank(), worker);
    everyone.add(worker);
    worker.start();
  }

  /** Removes a worker that has received the last version. */
  void finished(Member member) {
    network.after(0, () -> coordinator.leave(member));
  }

  /** Records the answer that a worker received for its gradient. */
  void answered(ParameterPartition answer) {
    answers.add(answer);
  }

  /**
   * Returns the answers that workers received for their gradients.
   *
   * @return the answers in the order in which they arrived
   */
  public List<ParameterPartition> answers() {
    return Collections.unmodifiableList(answers);
  }

  /**
   * Returns the refusals that a correct run does not have. A correct run has only those of a stale
   * incarnation, which a replaced worker receives, and those of an absent server.
   *
   * @return the refusals, worker after worker
   */
  public List<Refusal> unexpectedRefusals() {
    return everyone.stream().flatMap(worker -> worker.unexpectedRefusals().stream()).toList();
  }

  /**
   * Checks that no update was applied twice. Requires a strategy that sums updates.
   *
   * @throws AssertionError naming the first element that was updated neither never nor once
   */
  public void requireAppliedAtMostOnce() {
    float[][] parameters = parameters();
    for (int part = 0; part < parameters.length; part++) {
      for (int slot = UpdateSlots.DENSE; slot < slots.length(); slot++) {
        float applied = applied(parameters, part, slot);
        if (applied != 0 && applied != 1) {
          throw new AssertionError(
              "seed %s: partition %s, element %s: its update was applied %s times, expected 0 or 1"
                  .formatted(seed, part, slot, applied));
        }
      }
    }
  }

  /**
   * Checks that the answers to workers match what happened to their updates. Requires a strategy
   * that sums updates and a run without server crashes.
   *
   * @throws AssertionError naming the first wrong answer
   */
  public void requireTrueAnswers() {
    float[][] parameters = parameters();
    for (ParameterPartition answer : answers) {
      float expected = answer.outcome() == Outcome.APPLIED ? 1 : 0;
      int part = answer.id().partition();
      float applied = applied(parameters, part, slots.of(answer.id()));
      if (answer.outcome() != Outcome.DUPLICATE && applied != expected) {
        throw new AssertionError(
            "seed %s: the update was applied %s times, and a worker received: %s"
                .formatted(seed, applied, answer));
      }
    }
  }

  /**
   * Checks the servers' ledgers against the parameters: every step that a worker completed was
   * processed once for each partition, none was skipped, and the parameters contain as many updates
   * as the ledger counts. Requires a strategy that sums updates.
   *
   * @throws AssertionError naming the first rank and partition that differ
   */
  public void requireBalancedLedger() {
    float[][] parameters = parameters();
    for (int part = 0; part < PARTITIONS; part++) {
      for (SimulatedWorker worker : alive.values()) {
        requireBalanced(parameters, part, worker);
      }
    }
  }

  private void requireBalanced(float[][] parameters, int part, SimulatedWorker worker) {
    int rank = worker.self().rank();
    LedgerSnapshot.Entry entry = ledger(part, rank);
    float applied = 0;
    for (long step = 0; step < entry.next(); step++) {
      ExchangeId id = new ExchangeId(TestJob.JOB, rank, 0, 0, step, part);
      applied += applied(parameters, part, slots.of(id));
    }
    UpdateCounts counts = entry.counts();
    boolean all = counts.applied() + counts.late() + counts.tooStale() == entry.next();
    if (!all || counts.applied() != applied || entry.next() < worker.completedSteps()) {
      throw new AssertionError(
          ("seed %s: partition %s, rank %s: found %s applied updates and the ledger %s, expected an"
                  + " outcome of each of %s steps, and as many applied")
              .formatted(seed, part, rank, applied, entry, worker.completedSteps()));
    }
  }

  private LedgerSnapshot.Entry ledger(int part, int rank) {
    Shard served = shard(job.plan.partitions().get(part).shard()).internal();
    return served.snapshot().states().stream()
        .map(SavedState::head)
        .filter(head -> head.index() == part)
        .flatMap(head -> head.ledger().entries().stream())
        .filter(entry -> entry.rank() == rank)
        .findFirst()
        .orElseGet(() -> new LedgerSnapshot.Entry(rank, 0, 0, UpdateCounts.NONE, List.of()));
  }

  private float applied(float[][] parameters, int part, int slot) {
    return job.initial()[part * slots.length() + slot] - parameters[part][slot];
  }

  /**
   * Returns the parameters.
   *
   * @return an array for each partition
   */
  public float[][] parameters() {
    float[][] parameters = new float[PARTITIONS][];
    for (int part = 0; part < PARTITIONS; part++) {
      parameters[part] = job.parameters(shard(job.plan.partitions().get(part).shard()), part);
    }
    return parameters;
  }

  /**
   * Passes a frame with a borrowed gradient that is overwritten when the server returns, like one
   * that was read from a socket.
   */
  private Future<Frame> lend(Frame frame, Function<Frame, Future<Frame>> server) {
    if (!(frame instanceof GradientPartition update)) {
      return server.apply(frame);
    }
    TensorView lent = memory.copyOf(update.gradient());
    Future<Frame> answer = server.apply(update.with(lent));
    memory.giveBack(lent);
    float[] gone = new float[lent.length()];
    Arrays.fill(gone, Float.NaN);
    memory.giveBack(memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(gone)));
    return answer;
  }

  private void back(int index, int incarnation, int[] cut, Frame answer, Consumer<Frame> receiver) {
    network.send(
        () -> {
          if (incarnations[index] == incarnation && cut[index] == 0) {
            receiver.accept(answer);
          }
        });
  }

  private boolean isOver() {
    return pendingFaults == 0
        && alive.size() == workers
        && alive.values().stream().allMatch(SimulatedWorker::finished);
  }

  private void tick() {
    for (int index = 0; index < shards(); index++) {
      shard(index).tick(job.clock.getAsLong());
      if (conditions.serverCrashes() > 0 && network.random(10) == 0) {
        snapshots[index] = shard(index).internal().snapshot();
      }
    }
    network.after(100, this::tick);
  }

  private void plan(Runnable fault) {
    pendingFaults++;
    network.after(
        500 + network.random(4_000),
        () -> {
          fault.run();
          network.after(3_000, () -> pendingFaults--);
        });
  }

  private void killWorker() {
    SimulatedWorker victim = alive.remove(network.random(workers));
    if (victim != null) {
      victim.kill();
      replace(victim);
    }
  }

  /**
   * Stops a worker. It is evicted, and continues some time before or after its replacement has
   * started.
   */
  private void stopWorker() {
    SimulatedWorker victim = alive.remove(network.random(workers));
    if (victim != null) {
      victim.stop();
      replace(victim);
      network.after(500 + network.random(2_500), victim::resume);
    }
  }

  private void replace(SimulatedWorker victim) {
    int rank = victim.self().rank();
    int incarnation = victim.self().incarnation() + 1;
    network.after(1_000, () -> coordinator.leave(victim.self()));
    network.after(1_000 + network.random(1_000), () -> coordinator.join(rank, incarnation));
  }

  private void cut() {
    int[] cut = cuts[network.random(workers)];
    int index = network.random(shards());
    cut[index]++;
    network.after(500 + network.random(2_500), () -> cut[index]--);
  }

  /** Crashes a server. Its newest snapshot may be damaged. */
  private void crashServer() {
    int index = network.random(shards());
    NavigableMap<Long, Checkpoint> versions = kept.get(index);
    if (shard(index).internal().movesInRounds()) {
      if (versions.size() > 1 && network.random(4) == 0) {
        versions.pollLastEntry();
      }
      restart(index, versions.lastEntry().getValue());
    } else {
      restart(index, snapshots[index]);
    }
    restartWorkers();
  }

  private void restart(int index, Checkpoint from) {
    incarnations[index]++;
    TestShard restarted = job.shard(index, incarnations[index]);
    restarted.internal().restore(from);
    shards.set(index, restarted);
  }

  /**
   * Restarts all workers from the servers' versions; they learn some time later that they were
   * replaced.
   */
  private void restartWorkers() {
    List<SimulatedWorker> begunAnew = List.copyOf(alive.values());
    alive.clear();
    begunAnew.forEach(worker -> network.after(network.random(1_500), worker::kill));
    coordinator.serverRestarted(
        begunAnew.stream()
            .map(SimulatedWorker::self)
            .map(w -> new Member(w.rank(), w.incarnation() + 1, 0))
            .toList());
  }
}
