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
import io.vertigrad.internal.checkpoint.LedgerEntry;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.internal.server.Shard;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
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
 * A whole job under a fake clock and a seed: simulated workers, network and coordinator around the
 * shards that run in production. The same arguments give the same run, frame by frame.
 *
 * <p>A job has three partitions and six steps of plain SGD at learning rate 1. A part of a worker's
 * gradient depends on the parameters; beside it every update has one element of its own with
 * gradient 1, so that with a strategy that sums updates the element counts how often the update was
 * applied: {@link #requireAppliedAtMostOnce()} and {@link #requireTrueAnswers()} look there. With
 * other strategies, compare {@link #parameters()} with those of a run under {@link
 * NetworkConditions#RELIABLE}.
 */
public final class NetworkSimulator {

  private static final int PARTITIONS = 3;
  private static final int STEPS = 6;
  private static final long LIMIT_MILLIS = 600_000;

  private final NetworkConditions conditions;
  private final int workers;
  private final long seed;
  private final UpdateSlots slots;
  private final TestJob job;
  private final SimulatedNetwork network;
  private final SimulatedCoordinator coordinator = new SimulatedCoordinator(this);
  private final List<TestShard> shards = new ArrayList<>();
  private final int[] incarnations;
  private final ShardSnapshot[] snapshots;
  private final Map<Integer, SimulatedWorker> alive = new TreeMap<>();
  private final List<SimulatedWorker> everyone = new ArrayList<>();
  private final List<ParameterPartition> answers = new ArrayList<>();
  private final TensorMemory memory = new TensorMemory();
  private final List<NavigableMap<Long, ShardSnapshot>> kept = new ArrayList<>();
  private final PlantedFault fault;
  private final int[][] cuts;
  private int disasters;

  /**
   * Prepares a run.
   *
   * @param strategy the strategy section of a job file, as JSON
   * @param workers how many workers, at least 1
   * @param shardCount over how many servers the three partitions are spread, from 1 to 3
   * @param conditions what the network does, and who fails
   * @param seed of all that is random
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
    job.windows = window(fault, workers);
    job.ranks = workers;
    this.network = new SimulatedNetwork(job.clock, conditions, seed);
    this.incarnations = new int[shardCount];
    this.snapshots = new ShardSnapshot[shardCount];
    this.cuts = new int[workers][shardCount];
    for (int shard = 0; shard < shardCount; shard++) {
      shards.add(job.shard(shard, 0));
      snapshots[shard] = shards.get(shard).internal().snapshot();
      kept.add(new TreeMap<>(Map.of(0L, snapshots[shard])));
    }
  }

  private static Supplier<DuplicateWindow> window(PlantedFault fault, int ranks) {
    return fault == PlantedFault.NO_DEDUPLICATION
        ? ForgetfulWindow::new
        : () -> new DuplicateWindow(ranks);
  }

  /** A window that recognises nothing. */
  private static final class ForgetfulWindow extends DuplicateWindow {

    @Override
    public boolean isSettled(ExchangeId id) {
      return false;
    }
  }

  /**
   * Trains to the end.
   *
   * @return this, when every worker has seen the last version
   * @throws AssertionError if that takes more than 600 simulated seconds, saying who waits for what
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
   * Gives the job, for its layout and initial parameters.
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

  /** Sends a frame to the server of its partition, and an answer back, through the network. */
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

  /** True now and then where workers are to take for delivered what nobody acknowledged. */
  boolean takesForDelivered() {
    return fault == PlantedFault.LOST_ACKNOWLEDGEMENT && network.random(10) == 0;
  }

  /** The frame as its server gets it: without fencing, with the incarnation that is expected. */
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

  /** Where workers move in rounds, servers keep copies of rounds that have ended everywhere. */
  private void keep(int index) {
    Shard served = shard(index).internal();
    if (conditions.serverCrashes() > 0 && served.movesInRounds() && served.isAligned()) {
      boolean isNew = !kept.get(index).containsKey(served.version());
      if (isNew && network.random(3) > 0) {
        kept.get(index).put(served.version(), served.snapshot());
      }
    }
  }

  /** All servers go back to the newest version that each of them has kept. */
  void goBack() {
    NavigableSet<Long> common = new TreeSet<>(kept.get(0).keySet());
    kept.forEach(some -> common.retainAll(some.keySet()));
    for (int index = 0; index < shards(); index++) {
      restart(index, kept.get(index).get(common.last()));
      kept.get(index).tailMap(common.last(), false).clear();
    }
    beginAnew();
  }

  void startWorker(Member member) {
    SimulatedWorker worker = new SimulatedWorker(this, member);
    alive.put(member.rank(), worker);
    everyone.add(worker);
    worker.start();
  }

  /** A worker that saw the last version leaves. */
  void finished(Member member) {
    network.after(0, () -> coordinator.leave(member));
  }

  /** Notes what a worker was told about its gradient. */
  void answered(ParameterPartition answer) {
    answers.add(answer);
  }

  /**
   * Gives what workers were told about their gradients.
   *
   * @return the answers in the order in which they arrived
   */
  public List<ParameterPartition> answers() {
    return Collections.unmodifiableList(answers);
  }

  /**
   * Gives the refusals that a correct run does not have: all but those of a stale incarnation,
   * which a worker hears that was replaced, and of a server that is not there.
   *
   * @return the refusals, worker after worker
   */
  public List<Refusal> unexpectedRefusals() {
    return everyone.stream().flatMap(worker -> worker.unexpectedRefusals().stream()).toList();
  }

  /**
   * Checks that no update was applied twice, where the strategy sums updates.
   *
   * @throws AssertionError naming the first element that was stepped otherwise than once or never
   */
  public void requireAppliedAtMostOnce() {
    float[][] parameters = parameters();
    for (int part = 0; part < parameters.length; part++) {
      for (int slot = UpdateSlots.DENSE; slot < slots.length(); slot++) {
        float applied = applied(parameters, part, slot);
        if (applied != 0 && applied != 1) {
          throw new AssertionError(
              "seed %d: partition %d, element %d: its update was applied %s times, expected 0 or 1"
                  .formatted(seed, part, slot, applied));
        }
      }
    }
  }

  /**
   * Checks that what workers were told about their updates is what happened to them, where the
   * strategy sums updates and no server crashed.
   *
   * @throws AssertionError naming the first answer that is not true
   */
  public void requireTrueAnswers() {
    float[][] parameters = parameters();
    for (ParameterPartition answer : answers) {
      float expected = answer.outcome() == Outcome.APPLIED ? 1 : 0;
      int part = answer.id().partition();
      float applied = applied(parameters, part, slots.of(answer.id()));
      if (answer.outcome() != Outcome.DUPLICATE && applied != expected) {
        throw new AssertionError(
            "seed %d: the update was applied %s times, and a worker was told: %s"
                .formatted(seed, applied, answer));
      }
    }
  }

  /**
   * Checks the servers' ledgers against the parameters, where the strategy sums updates: every step
   * that a worker completed was dealt with once for each partition, none was passed over, and as
   * many updates are in the parameters as the ledger says.
   *
   * @throws AssertionError naming the first rank and partition where that is not so
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
    LedgerEntry entry = ledger(part, rank);
    float applied = 0;
    for (long step = 0; step < entry.next(); step++) {
      ExchangeId id = new ExchangeId(TestJob.JOB, rank, 0, 0, step, part);
      applied += applied(parameters, part, slots.of(id));
    }
    boolean all = entry.applied() + entry.late() + entry.tooStale() == entry.next();
    if (!all || entry.applied() != applied || entry.next() < worker.completedSteps()) {
      throw new AssertionError(
          ("seed %d: partition %d, rank %d: found %s applied updates and the ledger %s, expected an"
                  + " outcome of each of %d steps, and as many applied")
              .formatted(seed, part, rank, applied, entry, worker.completedSteps()));
    }
  }

  private LedgerEntry ledger(int part, int rank) {
    Shard served = shard(job.plan.partitions().get(part).shard()).internal();
    return served.snapshot().partitions().stream()
        .filter(snapshot -> snapshot.index() == part)
        .flatMap(snapshot -> snapshot.ledger().entries().stream())
        .filter(entry -> entry.rank() == rank)
        .findFirst()
        .orElseGet(() -> new LedgerEntry(rank, 0, 0, 0, 0, 0, 0, 0, List.of()));
  }

  private float applied(float[][] parameters, int part, int slot) {
    return job.initial()[part * slots.length() + slot] - parameters[part][slot];
  }

  /**
   * Reads the parameters.
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

  /** Its gradient is gone when the server returns, as where it was read from a socket. */
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
    return disasters == 0
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

  private void plan(Runnable disaster) {
    disasters++;
    network.after(
        500 + network.random(4_000),
        () -> {
          disaster.run();
          network.after(3_000, () -> disasters--);
        });
  }

  private void killWorker() {
    SimulatedWorker victim = alive.remove(network.random(workers));
    if (victim != null) {
      victim.kill();
      replace(victim);
    }
  }

  /** It is taken for dead, and goes on some time after its replacement has begun, or before. */
  private void stopWorker() {
    SimulatedWorker victim = alive.remove(network.random(workers));
    if (victim != null) {
      victim.stop();
      replace(victim);
      network.after(500 + network.random(2_500), victim::goOn);
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

  /** Its newest snapshot may be damaged. */
  private void crashServer() {
    int index = network.random(shards());
    NavigableMap<Long, ShardSnapshot> versions = kept.get(index);
    if (shard(index).internal().movesInRounds()) {
      if (versions.size() > 1 && network.random(4) == 0) {
        versions.pollLastEntry();
      }
      restart(index, versions.lastEntry().getValue());
    } else {
      restart(index, snapshots[index]);
    }
    beginAnew();
  }

  private void restart(int index, ShardSnapshot from) {
    incarnations[index]++;
    TestShard restarted = job.shard(index, incarnations[index]);
    restarted.internal().restore(from);
    shards.set(index, restarted);
  }

  /** Workers hear some time later that they were replaced. */
  private void beginAnew() {
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
