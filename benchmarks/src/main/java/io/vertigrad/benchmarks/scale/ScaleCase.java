package io.vertigrad.benchmarks.scale;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.Tag;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * One strategy and number of workers over one network.
 *
 * @param name the strategy's name in tables
 * @param settings its section of a job file; empty for a server that gathers from all workers and
 *     answers all
 * @param workers number of workers
 * @param parameters number of parameters of the model, as simulated
 * @param pieceElements most elements of a message, as simulated
 */
record ScaleCase(String name, JsonObject settings, int workers, int parameters, int pieceElements) {

  private static final int ROUNDS = 4;
  private static final int MANY = 128;

  /**
   * The cost of one round, averaged over a few; the common start is not counted.
   *
   * @param messages messages of all workers
   * @param bytes bytes of all workers
   * @param seconds time until the next round can begin
   */
  record Cost(double messages, double bytes, double seconds) {}

  /** Runs no rounds and some rounds, each in its own network, and returns the difference. */
  Cost measure(Supplier<VirtualNetwork> networks) {
    int rounds = workers > MANY ? 1 : ROUNDS;
    VirtualNetwork before = run(networks.get(), 0);
    VirtualNetwork after = run(networks.get(), rounds);
    return new Cost(
        (double) (after.messages() - before.messages()) / rounds,
        (double) (after.bytes() - before.bytes()) / rounds,
        (after.now() - before.now()) / 1e9 / rounds);
  }

  private VirtualNetwork run(VirtualNetwork network, int rounds) {
    boolean served = settings.isEmpty();
    List<Integer> ranks = IntStream.range(0, served ? workers + 1 : workers).boxed().toList();
    StrategyFactory factory = served ? null : factory();
    for (int rank : ranks) {
      Consumer<VirtualPeers> body =
          served
              ? peers -> (peers.rank() == workers ? server(rounds) : client(rounds)).accept(peers)
              : peers -> train(peers, factory, network, rounds);
      network.add(new VirtualPeers(network, rank, ranks, body));
    }
    network.run();
    return network;
  }

  private StrategyFactory factory() {
    String strategy = settings.getString("name");
    Settings section = Settings.of("scale", settings.copy());
    section.string("name", strategy);
    return StrategyProviders.named(strategy, getClass().getClassLoader()).configure(section);
  }

  private void train(
      VirtualPeers peers, StrategyFactory factory, VirtualNetwork network, int rounds) {
    Replica replica = new Replica(new float[parameters], parameters, 1);
    PeerStrategy strategy =
        factory.create(
            new PeerContext(
                peers,
                replica,
                config -> new Optimizer(config, new PlainRule(), parameters),
                OptimizerConfig.sgd(0.1),
                workers,
                1,
                DataType.FLOAT32,
                Compression.NONE,
                pieceElements,
                network::now));
    strategy.open(peers.adopt(), true);
    for (int round = 0; round < rounds; round++) {
      strategy.begin();
      strategy.complete(new LocalGradient(new float[parameters], 1));
    }
  }

  private Consumer<VirtualPeers> client(int rounds) {
    return peers -> {
      for (int round = 0; round < rounds; round++) {
        for (int piece = 0; piece < pieces(); piece++) {
          peers.send(workers, new Tag(round, 0, piece), piece(piece));
        }
        for (int piece = 0; piece < pieces(); piece++) {
          peers.receive(workers, new Tag(round, 1, piece));
        }
      }
    };
  }

  private Consumer<VirtualPeers> server(int rounds) {
    return peers -> {
      for (int round = 0; round < rounds; round++) {
        for (int piece = 0; piece < pieces(); piece++) {
          TensorView last = null;
          for (int rank = 0; rank < workers; rank++) {
            last = peers.receive(rank, new Tag(round, 0, piece));
          }
          for (int rank = 0; rank < workers; rank++) {
            peers.send(rank, new Tag(round, 1, piece), last);
          }
        }
      }
    };
  }

  private Tensor piece(int piece) {
    int length = Math.min(pieceElements, parameters - piece * pieceElements);
    return Tensor.copyOf(DataType.FLOAT32, FloatBuffer.allocate(length));
  }

  private int pieces() {
    return (parameters + pieceElements - 1) / pieceElements;
  }

  /** A rule that leaves the gradient unchanged: all gradients are zero. */
  private static final class PlainRule implements UpdateRule {

    @Override
    public void toStep(float[] gradient, double learningRate, long iteration) {}

    @Override
    public int stateLength() {
      return 0;
    }

    @Override
    public void readState(FloatBuffer destination) {}

    @Override
    public void writeState(FloatBuffer source) {}
  }
}
