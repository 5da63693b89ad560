package io.vertigrad.collective;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.collective.SimulatedWorkers.Worker;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.internal.host.DeviceReplica;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.testkit.DeviceModel;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Supplier;

/** Trains {@code f_i(x) = 1/2 |x - target_i|^2} on every simulated worker. */
public final class SimulatedTraining {

  static final int BATCH = 4;

  public final SimulatedWorkers network;
  public final Map<Integer, Replica> replicas = new TreeMap<>();
  public final Map<Integer, PeerStrategy> strategies = new TreeMap<>();
  public OptimizerConfig optimizer = OptimizerConfig.sgd(0.1);
  public DataType type = DataType.FLOAT32;
  public Compression compression = Compression.NONE;
  public int length = 7;
  public int trainable = 5;
  public int pieceElements = 2;
  public long computeNanos = 1_000_000;
  public int workers;
  public int steps = 10;
  public Samples samples = (rank, step) -> BATCH;
  public Extra extraNanos = (rank, step) -> 0;
  public final Map<Integer, Long> finishedNanos = new TreeMap<>();
  public Gradient gradient = SimulatedTraining::towardsTarget;

  /** Computes and steps on a simulated device; the rank's model is in {@link #devices}. */
  public boolean onDevice;

  /** Whether the device knows the optimizer's rule. */
  public boolean deviceKnowsRule = true;

  public final Map<Integer, DeviceModel> devices = new TreeMap<>();

  /** The arrays of the vector; null when the strategy need not know them. */
  public ParameterLayout layout;

  /** Initial value of all elements of all workers; NaN for values that depend on the rank. */
  public float initialValue = Float.NaN;

  /** Sets the number of samples of a worker's batch. */
  public interface Samples {
    int of(int rank, long step);
  }

  /** Sets how much longer a worker's gradient takes. */
  public interface Extra {
    long of(int rank, long step);
  }

  /** Computes a worker's gradient at its parameters. */
  public interface Gradient {
    float[] at(int rank, long step, float[] parameters);
  }

  private final StrategyProvider provider;
  private final JsonObject settings;

  public SimulatedTraining(
      StrategyProvider provider, String settings, NetworkFaults faults, long seed) {
    this.provider = provider;
    this.settings = new JsonObject(settings);
    this.network = new SimulatedWorkers(seed, faults);
  }

  /** Trains with this many workers from the start. */
  public SimulatedTraining run(int count) {
    workers = count;
    for (int rank = 0; rank < count; rank++) {
      network.start(rank, this::train);
    }
    network.regroup(0, 1, SimulatedWorkers.ranks(count));
    network.run();
    return this;
  }

  public void train(Worker worker) {
    Replica replica = replica(worker.rank);
    replicas.put(worker.rank, replica);
    PeerStrategy strategy = create(worker, replica);
    strategies.put(worker.rank, strategy);
    worker.awaitGroup();
    boolean fresh = true;
    while (fresh || !network.everyoneRests()) {
      try {
        strategy.open(worker.adopt(), fresh);
        fresh = false;
        while (replica.updates() < steps) {
          step(worker, replica, strategy);
        }
        rest(worker, strategy);
      } catch (GroupChangedException changed) {
        continue;
      }
    }
  }

  private Replica replica(int rank) {
    float[] initial = initial(rank);
    if (!onDevice) {
      return layout == null
          ? new Replica(initial, trainable, 1_000)
          : new Replica(initial, layout, 1_000, Float.MAX_VALUE);
    }
    Optional<DeviceModel.Rules> rules =
        deviceKnowsRule ? Optional.of(TestRule::new) : Optional.empty();
    DeviceModel model = new DeviceModel(new SimulatedModel(rank, initial), rules);
    devices.put(rank, model);
    return new DeviceReplica(model, 1_000, Float.MAX_VALUE);
  }

  private void rest(Worker worker, PeerStrategy strategy) {
    worker.rests = true;
    finishedNanos.putIfAbsent(worker.rank, network.now());
    while (!network.everyoneRests() && worker.current()) {
      strategy.idle();
      worker.compute(computeNanos);
    }
  }

  public float[] parameters(int rank) {
    return replicas.get(rank).parameters();
  }

  /**
   * Returns a worker's initial parameters, which depend on its rank to show that they are replaced.
   */
  public float[] initial(int rank) {
    float[] initial = new float[length];
    for (int i = 0; i < length; i++) {
      initial[i] = Float.isNaN(initialValue) ? 1 + i + 10 * rank : initialValue;
    }
    return initial;
  }

  public static float target(int rank, int element) {
    return rank - 0.5f * element;
  }

  /** Returns a gradient that depends only on rank and step. */
  public static float[] gaussian(int rank, long step, float[] x) {
    Random random = new Random(31L * rank + step);
    float[] g = new float[x.length];
    for (int i = 0; i < g.length; i++) {
      g[i] = (float) random.nextGaussian();
    }
    return g;
  }

  private void step(Worker worker, Replica replica, PeerStrategy strategy) {
    int count = samples.of(worker.rank, replica.updates());
    long nanos = computeNanos + extraNanos.of(worker.rank, replica.updates());
    if (onDevice) {
      stepOnDevice(worker, (DeviceReplica) replica, strategy, count, nanos);
      return;
    }
    // The gradient is at the parameters that the worker has before the rule begins.
    float[] at = replica.parameters();
    strategy.begin();
    float[] values = gradient(worker.rank, replica.updates(), at);
    worker.compute(nanos);
    strategy.complete(new LocalGradient(values, count));
  }

  private void stepOnDevice(
      Worker worker, DeviceReplica replica, PeerStrategy strategy, int count, long nanos) {
    DeviceModel model = devices.get(worker.rank);
    replica
        .beginGradient(strategy.beginsWithParameters())
        .ifPresent(parameters -> model.writeParameters(0, FloatBuffer.wrap(parameters)));
    model.whileBusy(
        () -> {
          strategy.begin();
          return null;
        });
    model.gradient(new Batch(new float[0], new int[0], List.of(), (int) replica.updates()));
    worker.compute(nanos);
    Supplier<float[]> read =
        () -> {
          float[] values = strategy.gradientArray().orElseGet(() -> new float[length]);
          model.readGradient(0, FloatBuffer.wrap(values, 0, length));
          return values;
        };
    strategy.complete(
        replica.isOnDevice()
            ? new LocalGradient(read, count)
            : new LocalGradient(read.get(), count));
  }

  private float[] gradient(int rank, long step, float[] parameters) {
    float[] values = gradient.at(rank, step, parameters);
    for (int i = trainable; i < length; i++) {
      values[i] = 0.25f * (rank + 1);
    }
    return values;
  }

  private PeerStrategy create(Worker worker, Replica replica) {
    StrategyFactory factory = provider.configure(Settings.of("job.json", settings.copy()));
    return factory.create(
        new PeerContext(
            worker,
            replica,
            config -> optimizer(replica, config),
            optimizer,
            workers,
            BATCH,
            type,
            compression,
            pieceElements,
            network::now));
  }

  private Optimizer optimizer(Replica replica, OptimizerConfig config) {
    return onDevice
        ? replica.optimizer(new QuadraticEngine(), config)
        : new Optimizer(config, new TestRule(config, trainable), trainable);
  }

  private static float[] towardsTarget(int rank, long step, float[] parameters) {
    float[] values = parameters.clone();
    for (int i = 0; i < values.length; i++) {
      values[i] -= target(rank, i);
    }
    return values;
  }

  /** The memory of a rank's device, and what computes there. */
  private final class SimulatedModel implements Model {

    private final int rank;
    private final float[] parameters;
    private float[] computed = new float[length];

    SimulatedModel(int rank, float[] parameters) {
      this.rank = rank;
      this.parameters = parameters;
    }

    @Override
    public ParameterLayout layout() {
      return layout == null ? QuadraticModel.layout(trainable, length - trainable) : layout;
    }

    @Override
    public void readParameters(int first, FloatBuffer destination) {
      destination.put(parameters, first, destination.remaining());
    }

    @Override
    public void writeParameters(int first, FloatBuffer source) {
      source.get(parameters, first, source.remaining());
    }

    /** Computes the gradient of the step that the batch's epoch names. */
    @Override
    public double gradient(Batch batch) {
      computed = SimulatedTraining.this.gradient(rank, batch.epoch(), parameters.clone());
      return 0;
    }

    @Override
    public void readGradient(int first, FloatBuffer destination) {
      destination.put(computed, first, destination.remaining());
    }

    @Override
    public Score score(Batch batch, int topK) {
      throw new UnsupportedOperationException("nothing is tested");
    }

    @Override
    public void save(Path file) {
      throw new UnsupportedOperationException("nothing to save");
    }

    @Override
    public void close() {}
  }

  /** SGD, or with momentum a heavy ball, {@code v <- mu v + g; step = r v}. */
  private static final class TestRule implements UpdateRule {

    private final double momentum;
    private final int length;
    private final float[] velocity;

    TestRule(OptimizerConfig config, int length) {
      boolean heavy = config.momentum() > 0;
      this.length = length;
      momentum = config.momentum();
      velocity = new float[heavy ? length : 0];
    }

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {
      for (int i = 0; i < velocity.length; i++) {
        velocity[i] = (float) (momentum * velocity[i] + gradient[i]);
        gradient[i] = velocity[i];
      }
      for (int i = 0; i < length; i++) {
        gradient[i] *= (float) learningRate;
      }
    }

    @Override
    public int stateLength() {
      return velocity.length;
    }

    @Override
    public void readState(FloatBuffer destination) {
      destination.put(velocity);
    }

    @Override
    public void writeState(FloatBuffer source) {
      source.get(velocity);
    }
  }
}
