package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.collective.Topology;
import io.vertigrad.compute.optimizer.LearningRateSchedule;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.federated.SimulatedPeers.Loss;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.GroupChangedException;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.Tag;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ClippedGossipTest {

  private static final double RATE = 0.1;
  private static final double CLOSE = 1e-4;

  @ParameterizedTest
  @CsvSource({
    "ring, 3, '\"liars\": 1', 0",
    "ring, 4, '\"liars\": 1', 0.8",
    "ring, 5, '\"clipRadius\": 0.05', 0",
    "ring, 2, '\"clipRadius\": 0.05', 0",
    "complete, 4, '\"liars\": 1', 0",
    "complete, 3, '\"clipRadius\": 0.2', 0.8",
    "complete, 4, '\"liars\": 0', 0",
    "ring, 4, '\"liars\": 0', 0.8"
  })
  void shouldFollowTheIterationByHandWhenNobodyLies(
      String topology, int workers, String more, double momentum) throws Exception {
    SimulatedPeers peers = peers(topology, more);
    peers.optimizer = sgd(momentum);

    peers.run(workers);

    JsonObject keys = new JsonObject("{" + more + "}");
    double[][] expected =
        expected(
            Topology.named(topology, workers),
            keys.getInteger("liars", 0),
            keys.getDouble("clipRadius", 0.0),
            momentum,
            peers);
    for (int i = 0; i < workers; i++) {
      for (int e = 0; e < SimulatedPeers.TRAINABLE; e++) {
        assertEquals(expected[i][e], peers.parameters(i)[e], CLOSE, "worker " + i);
      }
      assertEquals(peers.steps, peers.replicas.get(i).updates());
      assertEquals(peers.steps * workers, peers.replicas.get(i).samples());
    }
  }

  @Test
  void shouldKeepItsStatisticsWhenNeighboursHaveOthers() throws Exception {
    SimulatedPeers peers = peers("ring", "\"liars\": 1").run(3);

    for (int rank = 0; rank < 3; rank++) {
      float[] tail =
          Arrays.copyOfRange(
              peers.parameters(rank), SimulatedPeers.TRAINABLE, peers.parameters(rank).length);
      float changed = -peers.steps * (rank + 1);
      assertArrayEquals(new float[] {changed, changed}, tail, 1e-6f);
    }
  }

  /** The honest workers' targets are 0.9 to 1.1: they stay there, whatever worker 2 sends. */
  @ParameterizedTest
  @ValueSource(strings = {"NaN", "Infinity", "-1e30", "1000", "-5"})
  void shouldStayNearHonestTargetsWhenOneOfARingLies(String sent) throws Exception {
    SimulatedPeers clipped = lying("clippedGossip", Float.parseFloat(sent)).run(5);

    for (int rank : new int[] {0, 1, 3, 4}) {
      for (int e = 0; e < SimulatedPeers.TRAINABLE; e++) {
        assertEquals(1, clipped.parameters(rank)[e], 0.25, "worker " + rank);
      }
    }
  }

  @Test
  void shouldMoveNobodyAsPlainGossipDoesWhenOneOfARingLies() throws Exception {
    SimulatedPeers plain = lying("dpsgd", 1_000).run(5);

    // A third of the lie each round, against a pull of a tenth back.
    assertTrue(plain.parameters(1)[0] > 100, Arrays.toString(plain.parameters(1)));
  }

  @Test
  void shouldLeaveOutWhatIsNotFiniteWhenNoLiarIsExpected() throws Exception {
    SimulatedPeers peers = peers("complete", "\"liars\": 0");
    peers.lies.put(1, own -> Float.NaN);

    peers.run(3);

    for (int rank : new int[] {0, 2}) {
      for (float element : peers.parameters(rank)) {
        assertTrue(Float.isFinite(element), Arrays.toString(peers.parameters(rank)));
      }
    }
  }

  @Test
  void shouldContinueWithTheOthersWhenANeighbourIsLost() throws Exception {
    SimulatedPeers peers = peers("complete", "\"liars\": 0");
    peers.steps = 200;
    peers.loss = Optional.of(new Loss(1, 7));

    peers.run(4);

    // The mean of complete neighbours follows the mean of their targets: 0, 2 and 3, less e / 2.
    for (int e = 0; e < SimulatedPeers.TRAINABLE; e++) {
      double mean = 0;
      for (int rank : new int[] {0, 2, 3}) {
        mean += peers.parameters(rank)[e] / 3.0;
      }
      assertEquals(5 / 3.0 - 0.5 * e, mean, 1e-3);
    }
    assertEquals(7, peers.replicas.get(1).updates());
    assertEquals(200, peers.replicas.get(3).updates());
  }

  @Test
  void shouldUndoItsStepWhenTheGroupChangesBeforeNeighboursAnswer() {
    OptimizerConfig config = sgd(0.8);
    Replica replica = new Replica(new float[] {1, 2, 3, 4}, 3, 1_000);
    Optimizer optimizer = replica.optimizer(new QuadraticEngine(), config);
    PeerStrategy rule =
        configured(new JsonObject("{\"name\": \"clippedGossip\"}"), 3)
            .create(
                new PeerContext(
                    new LostNeighbours(),
                    replica,
                    ignored -> optimizer,
                    config,
                    3,
                    1,
                    DataType.FLOAT32,
                    Compression.NONE,
                    2,
                    System::nanoTime));
    rule.open(new PeerGroup(1, List.of(0), 0), true);
    rule.complete(new LocalGradient(new float[] {1, 1, 1, 1}, 1));
    float[] before = replica.parameters().clone();
    float[] state = Replica.state(optimizer);
    assertThrows(
        GroupChangedException.class, () -> rule.open(new PeerGroup(2, List.of(0, 1, 2), 0), false));

    assertThrows(
        GroupChangedException.class,
        () -> rule.complete(new LocalGradient(new float[] {5, 5, 5, 5}, 1)));

    assertArrayEquals(before, replica.parameters());
    assertArrayEquals(state, Replica.state(optimizer));
    assertEquals(1, replica.updates());
    assertEquals(1, replica.samples());
    assertFalse(Arrays.equals(new float[] {1, 2, 3, 4}, before));
    assertTrue(state[0] != 0);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"topology\": \"star\" | 5 | strategy.topology is \"star\", expected one of",
        "\"liars\": 2 | 5 | strategy.liars is 2 with topology \"ring\" and 5 workers, expected at most 1",
        "\"liars\": 1 | 2 | strategy.liars is 1 with topology \"ring\" and 2 workers, expected at most 0",
        "\"topology\": \"complete\", \"liars\": 3 | 6 | strategy.liars is 3 with topology \"complete\"",
        "\"liars\": 1, \"clipRadius\": 0.5 | 5 | strategy.liars is 1 beside a clipRadius of 0.5",
        "\"clipRadius\": -1 | 5 | strategy.clipRadius is -1"
      })
  void shouldNameTheKeyWhenTheJobDoesNotFit(String more, int workers, String expected) {
    JsonObject section = new JsonObject("{\"name\": \"clippedGossip\", " + more + "}");

    SettingsException refused =
        assertThrows(SettingsException.class, () -> configured(section, workers));

    assertTrue(refused.getMessage().startsWith("job.json: " + expected), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"exchange\": {\"compression\": \"int8\"} | exchange.compression",
        "\"workers\": {\"count\": 3, \"balance\": \"speed\"} | workers.balance",
        "\"pipeline\": {\"stages\": 3} | strategy.name"
      })
  void shouldNameTheKeyWhenAnotherSectionDoesNotFit(String sections, String named) {
    JsonObject job = new JsonObject("{" + sections + "}");
    job.put("strategy", new JsonObject().put("name", "clippedGossip"));
    if (!job.containsKey("workers") && !job.containsKey("pipeline")) {
      job.put("workers", new JsonObject().put("count", 3));
    }

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () ->
                StrategyProviders.configure(
                    JobConfig.read("job.json", job), getClass().getClassLoader()));

    assertTrue(refused.getMessage().startsWith("job.json: " + named), refused.getMessage());
  }

  private static OptimizerConfig sgd(double momentum) {
    return new OptimizerConfig(
        "sgd", RATE, momentum, 0, 0, 0, 1e-8, 0, 0, 0, LearningRateSchedule.constant());
  }

  private static StrategyFactory configured(JsonObject section, int workers) {
    JobConfig job =
        JobConfig.read(
            "job.json",
            new JsonObject()
                .put("workers", new JsonObject().put("count", workers))
                .put("strategy", section));
    return StrategyProviders.configure(job, ClippedGossipTest.class.getClassLoader());
  }

  private static SimulatedPeers peers(String topology, String more) {
    return new SimulatedPeers(
        "{\"name\": \"clippedGossip\", \"topology\": \"%s\", %s}".formatted(topology, more));
  }

  private static SimulatedPeers lying(String strategy, float sent) {
    SimulatedPeers peers =
        new SimulatedPeers("{\"name\": \"%s\", \"topology\": \"ring\"}".formatted(strategy));
    peers.steps = 100;
    peers.target = (rank, element) -> 0.9f + 0.05f * rank;
    peers.lies.put(2, own -> sent);
    return peers;
  }

  /** Computes the iteration in double precision, for trainable elements only. */
  private static double[][] expected(
      Topology topology, int liars, double fixed, double momentum, SimulatedPeers peers) {
    int workers = topology.size();
    int length = SimulatedPeers.TRAINABLE;
    double[][] x = new double[workers][length];
    double[][] v = new double[workers][length];
    for (int step = 0; step < peers.steps; step++) {
      double[][] half = new double[workers][length];
      for (int i = 0; i < workers; i++) {
        for (int e = 0; e < length; e++) {
          v[i][e] = momentum * v[i][e] + x[i][e] - peers.target.of(i, e);
          half[i][e] = x[i][e] - RATE * v[i][e];
        }
      }
      for (int i = 0; i < workers; i++) {
        double radius = fixed > 0 ? fixed : radius(topology, half, i, liars);
        for (int e = 0; e < length; e++) {
          x[i][e] = half[i][e];
          for (int j = 0; j < workers; j++) {
            double distance = distance(half[i], half[j]);
            double share = distance <= radius ? 1 : radius / distance;
            x[i][e] += topology.at(0).weight(i, j) * share * (half[j][e] - half[i][e]);
          }
        }
      }
    }
    return x;
  }

  /** All neighbours weigh the same: without the f farthest, sqrt(sum of squares / f). */
  private static double radius(Topology topology, double[][] half, int self, int liars) {
    double[] distances = new double[half.length];
    int count = 0;
    for (int j = 0; j < half.length; j++) {
      if (j != self && topology.at(0).weight(self, j) > 0) {
        distances[count++] = distance(half[self], half[j]);
      }
    }
    Arrays.sort(distances, 0, count);
    double squares = 0;
    for (int n = 0; n < count - liars; n++) {
      squares += distances[n] * distances[n];
    }
    return liars == 0 ? Double.POSITIVE_INFINITY : Math.sqrt(squares / liars);
  }

  private static double distance(double[] a, double[] b) {
    double squares = 0;
    for (int e = 0; e < a.length; e++) {
      squares += (a[e] - b[e]) * (a[e] - b[e]);
    }
    return Math.sqrt(squares);
  }

  /** A network whose group always changes before anything arrives. */
  private static final class LostNeighbours implements Peers {

    @Override
    public PeerGroup adopt() {
      throw new UnsupportedOperationException("the test passes groups");
    }

    @Override
    public void send(int rank, Tag tag, TensorView tensor) {}

    @Override
    public Tensor receive(int rank, Tag tag) {
      throw new GroupChangedException("epoch 3");
    }

    @Override
    public Optional<Tensor> poll(int rank, Tag tag) {
      return Optional.empty();
    }

    @Override
    public long arrivedNanos() {
      return 0;
    }
  }
}
