package io.vertigrad.internal.server;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.internal.checkpoint.ShardSnapshot;
import io.vertigrad.internal.exchange.DuplicateWindow;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * A whole job under a fake clock and a seed: simulated workers, network and coordinator around the
 * shards that run in production.
 */
final class NetworkSimulator {

  private static final int PARTITIONS = 3;
  private static final int STEPS = 6;
  private static final long LIMIT_MILLIS = 600_000;

  private final Weather weather;
  private final int workers;
  private final UpdateSlots slots;
  private final TestJob job;
  private final SimulatedNetwork network;
  private final SimulatedCoordinator coordinator = new SimulatedCoordinator(this);
  private final List<Shard> shards = new ArrayList<>();
  private final int[] incarnations;
  private final ShardSnapshot[] snapshots;
  private final Map<Integer, SimulatedWorker> alive = new TreeMap<>();
  private final List<SimulatedWorker> everyone = new ArrayList<>();
  private final List<ParameterPartition> answers = new ArrayList<>();
  private final TensorMemory memory = new TensorMemory();
  private int disasters;

  NetworkSimulator(String strategy, int workers, int shardCount, Weather weather, long seed) {
    this(strategy, workers, shardCount, weather, seed, DuplicateWindow::new);
  }

  NetworkSimulator(
      String strategy,
      int workers,
      int shardCount,
      Weather weather,
      long seed,
      Supplier<DuplicateWindow> windows) {
    this.weather = weather;
    this.workers = workers;
    this.slots = new UpdateSlots(workers, 1 + weather.deaths());
    int length = slots.length();
    this.job =
        new TestJob(
            new JsonObject(strategy), PARTITIONS * length, 0, STEPS, workers, length, shardCount);
    job.learningRate = 1;
    job.windows = windows;
    this.network = new SimulatedNetwork(job.clock, weather, seed);
    this.incarnations = new int[shardCount];
    this.snapshots = new ShardSnapshot[shardCount];
    for (int shard = 0; shard < shardCount; shard++) {
      shards.add(job.shard(shard, 0));
      snapshots[shard] = shards.get(shard).snapshot();
    }
  }

  /** Trains to the end; fails if that does not come. */
  NetworkSimulator run() {
    coordinator.start(workers);
    tick();
    for (int i = 0; i < weather.deaths(); i++) {
      plan(this::killWorker);
    }
    for (int i = 0; i < weather.crashes(); i++) {
      plan(this::crashServer);
    }
    network.runUntil(this::isOver, LIMIT_MILLIS, () -> everyone.toString());
    return this;
  }

  TestJob job() {
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

  Shard shard(int index) {
    return shards.get(index);
  }

  /** A round a little above what the slowest shard has reached, so that others may say no. */
  long agreedRound(long margin) {
    long slowest = shards.stream().mapToLong(Shard::version).min().orElse(0);
    return Math.min(slowest + margin, job.lastVersion());
  }

  /** Sends a frame to the server of its partition, and an answer back, through the weather. */
  void toShard(int partition, Frame frame, Consumer<Frame> receiver) {
    int index = job.plan.partitions().get(partition).shard();
    int incarnation = incarnations[index];
    network.send(
        () -> {
          if (incarnations[index] == incarnation) {
            lend(frame, lent -> shard(index).handle(lent))
                .onSuccess(answer -> back(index, incarnation, answer, receiver));
          }
        });
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

  /** What workers were told about their gradients, in order. */
  List<ParameterPartition> answers() {
    return answers;
  }

  /** Refusals that a correct run does not have. */
  List<Refusal> surprises() {
    return everyone.stream().flatMap(worker -> worker.surprises().stream()).toList();
  }

  /** Final parameters, partition after partition. */
  float[][] parameters() {
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
    Tensor lent = memory.copyOf(update.gradient());
    Future<Frame> answer = server.apply(update.with(lent));
    memory.giveBack(lent);
    float[] gone = new float[lent.length()];
    Arrays.fill(gone, Float.NaN);
    memory.giveBack(memory.copyOf(DataType.FLOAT32, FloatBuffer.wrap(gone)));
    return answer;
  }

  private void back(int index, int incarnation, Frame answer, Consumer<Frame> receiver) {
    network.send(
        () -> {
          if (incarnations[index] == incarnation) {
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
      if (weather.crashes() > 0 && network.random(10) == 0) {
        snapshots[index] = shard(index).snapshot();
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
    int rank = network.random(workers);
    SimulatedWorker victim = alive.remove(rank);
    if (victim == null) {
      return;
    }
    victim.kill();
    int incarnation = victim.self().incarnation() + 1;
    network.after(1_000, () -> coordinator.leave(victim.self()));
    network.after(1_000 + network.random(1_000), () -> coordinator.join(rank, incarnation));
  }

  private void crashServer() {
    int index = network.random(shards());
    incarnations[index]++;
    Shard restarted = job.shard(index, incarnations[index]);
    restarted.restore(snapshots[index]);
    shards.set(index, restarted);
    coordinator.serverRestarted();
    alive.values().forEach(w -> network.after(network.random(500), () -> w.serverRestarted(index)));
  }
}
