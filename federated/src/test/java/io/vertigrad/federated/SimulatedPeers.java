package io.vertigrad.federated;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.collective.InitialSync;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.Tag;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Workers without a server, each on a thread of its own, that train {@code f_i(x) = 1/2 |x -
 * target_i|^2}. Some lie to their neighbours. All workers begin with 0; statistics change by rank +
 * 1 with each gradient.
 */
final class SimulatedPeers {

  static final int TRAINABLE = 5;
  static final int STATISTICS = 2;

  private static final int PIECE = 2;
  private static final long LIMIT_SECONDS = 60;

  /** What some workers send in place of their vectors' elements. */
  final Map<Integer, UnaryOperator<Float>> lies = new HashMap<>();

  /** A worker that ends before a step. */
  Optional<Loss> loss = Optional.empty();

  /** The element of a worker's target. */
  Target target = (rank, element) -> rank - 0.5f * element;

  OptimizerConfig optimizer = OptimizerConfig.sgd(0.1);
  int steps = 10;

  final List<Replica> replicas = new ArrayList<>();

  private final JsonObject strategy;
  private final Map<Key, Tensor> messages = new HashMap<>();
  private PeerGroup newest;

  /** An element of a worker's target. */
  interface Target {
    float of(int rank, int element);
  }

  /**
   * The loss of a worker.
   *
   * @param rank of the worker
   * @param step before which it ends
   */
  record Loss(int rank, int step) {}

  private record Key(int epoch, int from, int to, Tag tag) {}

  /**
   * Creates workers.
   *
   * @param strategy section of a job file, as JSON
   */
  SimulatedPeers(String strategy) {
    this.strategy = new JsonObject(strategy);
  }

  /** Trains with this many workers, and returns when all have taken all steps. */
  SimulatedPeers run(int count) throws Exception {
    newest = new PeerGroup(1, IntStream.range(0, count).boxed().toList(), 0);
    for (int rank = 0; rank < count; rank++) {
      replicas.add(new Replica(new float[TRAINABLE + STATISTICS], TRAINABLE, 1_000));
    }
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try {
      List<Future<?>> ends = new ArrayList<>();
      for (int rank = 0; rank < count; rank++) {
        int self = rank;
        ends.add(threads.submit(() -> train(self, count)));
      }
      for (Future<?> end : ends) {
        end.get(LIMIT_SECONDS, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
    }
    return this;
  }

  /** Returns the parameters and statistics of a worker. */
  float[] parameters(int rank) {
    return replicas.get(rank).parameters();
  }

  private void train(int rank, int count) {
    Replica replica = replicas.get(rank);
    Connection connection = new Connection(rank);
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject()
                .put("workers", new JsonObject().put("count", count))
                .put("strategy", strategy.copy()));
    PeerStrategy rule =
        StrategyProviders.configure(job, getClass().getClassLoader())
            .create(
                new PeerContext(
                    connection,
                    replica,
                    config -> replica.optimizer(new QuadraticEngine(), config),
                    optimizer,
                    count,
                    1,
                    DataType.FLOAT32,
                    Compression.NONE,
                    PIECE,
                    System::nanoTime));
    boolean fresh = true;
    while (replica.updates() < steps) {
      try {
        rule.open(connection.adopt(), fresh);
        fresh = false;
        while (replica.updates() < steps) {
          if (loss.equals(Optional.of(new Loss(rank, (int) replica.updates())))) {
            lose(rank);
            return;
          }
          float[] gradient = gradient(rank, replica.parameters());
          rule.begin();
          rule.complete(new LocalGradient(gradient, 1));
        }
      } catch (GroupChangedException changed) {
        continue;
      }
    }
  }

  private float[] gradient(int rank, float[] parameters) {
    float[] gradient = parameters.clone();
    for (int i = 0; i < TRAINABLE; i++) {
      gradient[i] -= target.of(rank, i);
    }
    Arrays.fill(gradient, TRAINABLE, gradient.length, rank + 1);
    return gradient;
  }

  private synchronized void lose(int rank) {
    List<Integer> others = newest.ranks().stream().filter(other -> other != rank).toList();
    newest = new PeerGroup(newest.epoch() + 1, others, others.get(0));
    notifyAll();
  }

  private final class Connection implements Peers {

    private final int self;
    private int epoch;
    private long arrived;

    Connection(int self) {
      this.self = self;
    }

    @Override
    public PeerGroup adopt() {
      synchronized (SimulatedPeers.this) {
        epoch = newest.epoch();
        return new PeerGroup(epoch, newest.ranks(), self);
      }
    }

    @Override
    public void send(int rank, Tag tag, TensorView tensor) {
      Tensor sent = tensor.retain();
      if (lies.containsKey(self) && tag.round() >= InitialSync.ROUNDS) {
        float[] values = new float[tensor.length()];
        tensor.copyTo(values, 0);
        for (int i = 0; i < values.length; i++) {
          values[i] = lies.get(self).apply(values[i]);
        }
        sent = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
      }
      synchronized (SimulatedPeers.this) {
        messages.put(new Key(epoch, self, rank, tag), sent);
        SimulatedPeers.this.notifyAll();
      }
    }

    @Override
    public Tensor receive(int rank, Tag tag) {
      Key key = new Key(epoch, rank, self, tag);
      synchronized (SimulatedPeers.this) {
        while (!messages.containsKey(key)) {
          if (newest.epoch() != epoch) {
            throw new GroupChangedException("epoch " + newest.epoch());
          }
          try {
            SimulatedPeers.this.wait();
          } catch (InterruptedException ended) {
            throw new IllegalStateException("waits for " + key, ended);
          }
        }
        arrived = System.nanoTime();
        return messages.remove(key);
      }
    }

    @Override
    public Optional<Tensor> poll(int rank, Tag tag) {
      synchronized (SimulatedPeers.this) {
        return Optional.ofNullable(messages.remove(new Key(epoch, rank, self, tag)));
      }
    }

    @Override
    public long arrivedNanos() {
      return arrived;
    }
  }
}
