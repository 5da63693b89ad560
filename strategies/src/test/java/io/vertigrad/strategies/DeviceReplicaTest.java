package io.vertigrad.strategies;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Compression;
import io.vertigrad.collective.NetworkFaults;
import io.vertigrad.collective.SimulatedTraining;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.strategy.StrategyProvider;
import io.vertigrad.testkit.DeviceModel;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every strategy beside workers, with replicas on devices that count what crosses. */
class DeviceReplicaTest {

  private static final int STEPS = 24;

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "local; 'every': 5; 0.9",
        "diloco; 'syncEvery': 6; 0.9",
        "diloco; 'syncEvery': 6, 'fragments': 2, 'fragmentSyncDelay': 2; 0",
        "diloco; 'syncEvery': 8, 'fragmentSyncDelay': 3, 'fragmentUpdateAlpha': 0.5; 0.9",
        "dpsgd; 'topology': 'ring'; 0.9",
        "dpsgd; 'topology': 'ring', 'momentum': 'averaged'; 0.9",
        "dpsgd; 'topology': 'star', 'momentum': 'quasi-global'; 0.9",
        "dpsgd; 'topology': 'ring', 'conformance': 'published'; 0",
        "allreduce; 'checkEvery': 5; 0.9",
        "allreduce; 'powerSgdRank': 1; 0",
        "allreduce; 'groups': 2, 'between': {'name': 'diloco', 'syncEvery': 4}; 0.9",
        "gossip; ''; 0.9"
      })
  void shouldEndWithTheBitsOfStepsInJava(String name, String settings, double momentum) {
    Consumer<SimulatedTraining> with =
        training -> training.optimizer = training.optimizer.withL2(0.01).withMomentum(momentum);

    SimulatedTraining device = assertSameBits(name, settings, 4, with);

    device.devices.values().forEach(each -> assertTrue(each.transfers() > 0));
  }

  @ParameterizedTest
  @CsvSource({"local, INT8", "dpsgd, INT8", "dpsgd, TOPK", "diloco, INT4", "allreduce, INT8"})
  void shouldEndWithTheBitsOfStepsInJavaWhenExchangesAreCompressed(
      String name, Compression.Kind kind) {
    assertSameBits(name, "", 3, training -> training.compression = new Compression(kind, 0.4));
  }

  @ParameterizedTest
  @ValueSource(strings = {"local", "dpsgd", "allreduce", "gossip", "diloco"})
  void shouldEndWithTheBitsOfStepsInJavaWhenTheDeviceLacksTheRule(String name) {
    SimulatedTraining device =
        assertSameBits(name, "", 3, training -> training.deviceKnowsRule = false);

    for (DeviceModel each : device.devices.values()) {
      assertEquals(STEPS, each.gradientsDown);
      assertEquals(0, each.statesUp);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"local", "dpsgd", "allreduce", "diloco"})
  void shouldSkipTheStepWhenAGradientIsNotFinite(String name) {
    SimulatedTraining device =
        assertSameBits(
            name,
            "",
            3,
            training ->
                training.gradient =
                    (rank, step, x) -> {
                      float[] g = SimulatedTraining.gaussian(rank, step, x);
                      g[2] = rank == 1 && step % 7 == 3 ? Float.NaN : g[2];
                      return g;
                    });

    assertTrue(device.strategies.get(1).timing().skipped() >= 3);
    assertFalse(Float.isNaN(device.parameters(1)[2]));
  }

  /** The round that was under way is given up; the state of some workers has changed by then. */
  @ParameterizedTest
  @CsvSource({
    "local, 1",
    "local, 2",
    "dpsgd, 1",
    "dpsgd, 2",
    "allreduce, 1",
    "allreduce, 2",
    "diloco, 1",
    "diloco, 2",
    "gossip, 1"
  })
  void shouldEndWithTheBitsOfStepsInJavaWhenAWorkerDies(String name, long seed) {
    assertSameBits(
        name,
        name.equals("local") ? "'every': 4" : name.equals("diloco") ? "'syncEvery': 4" : "",
        3,
        training -> {
          training.steps = 40;
          training.network.kill(30_000_000 + seed * 5_700_000, 0);
          training.network.regroup(120_000_000, 2, List.of(1, 2));
        });
  }

  @Test
  void shouldCopyParametersOnceEachWayPerAverage() {
    SimulatedTraining training = training("local", "'every': 100");
    training.steps = 300;
    training.optimizer = training.optimizer.withMomentum(0.9);

    training.run(2);

    for (DeviceModel each : training.devices.values()) {
      assertEquals(3, each.parametersDown);
      // The first of a group's parameters, and two means: the third is handed over with a step.
      assertEquals(3, each.parametersUp);
      assertEquals(6, each.transfers(), "nothing else crosses");
    }
  }

  @Test
  void shouldCopyParametersOnceEachWayPerSynchronisation() {
    SimulatedTraining training = training("diloco", "'syncEvery': 50");
    training.steps = 200;
    training.optimizer = training.optimizer.withMomentum(0.9);

    training.run(2);

    for (DeviceModel each : training.devices.values()) {
      assertEquals(4, each.parametersDown);
      assertEquals(4, each.parametersUp);
      assertEquals(8, each.transfers(), "nothing else crosses");
    }
  }

  @Test
  void shouldLeaveGradientsOnTheDeviceWhenNeighboursExchangeParameters() {
    SimulatedTraining training = training("dpsgd", "'topology': 'ring'");

    training.run(3);

    for (DeviceModel each : training.devices.values()) {
      assertEquals(STEPS - 1, each.parametersDown, "before each step but the first");
      assertEquals(STEPS + 1, each.parametersUp);
      assertEquals(2 * STEPS, each.transfers(), "nothing else crosses");
    }
  }

  @Test
  void shouldLeaveParametersOnTheDeviceWhenGradientsAreReduced() {
    SimulatedTraining training = training("allreduce", "'checkEvery': 0");
    training.optimizer = training.optimizer.withMomentum(0.9);

    training.run(3);

    for (DeviceModel each : training.devices.values()) {
      assertEquals(STEPS, each.gradientsDown);
      assertEquals(STEPS, each.gradientsUp);
      assertEquals(2 * STEPS + 3, each.transfers(), "besides the state of a new group");
    }
  }

  private static SimulatedTraining assertSameBits(
      String name, String settings, int workers, Consumer<SimulatedTraining> change) {
    SimulatedTraining java = training(name, settings);
    java.onDevice = false;
    SimulatedTraining device = training(name, settings);
    for (SimulatedTraining each : List.of(java, device)) {
      change.accept(each);
      each.run(workers);
    }
    for (int rank : java.replicas.keySet()) {
      assertEquals(java.replicas.get(rank).updates(), device.replicas.get(rank).updates());
      assertEquals(java.replicas.get(rank).samples(), device.replicas.get(rank).samples());
      assertArrayEquals(java.parameters(rank), device.parameters(rank), "rank " + rank);
      assertArrayEquals(java.strategies.get(rank).memory(), device.strategies.get(rank).memory());
    }
    return device;
  }

  private static SimulatedTraining training(String name, String settings) {
    SimulatedTraining training =
        new SimulatedTraining(
            provider(name),
            "{%s}".formatted(settings.replace('\'', '"')),
            NetworkFaults.FREQUENT,
            5);
    training.onDevice = true;
    training.steps = STEPS;
    training.optimizer = OptimizerConfig.sgd(0.1);
    training.layout =
        new ParameterLayout(
            List.of(
                new Block("w", List.of(2, 2), Block.Kind.TRAINABLE),
                new Block("b", List.of(1), Block.Kind.TRAINABLE),
                new Block("mean", List.of(2), Block.Kind.STATISTIC)));
    return training;
  }

  private static StrategyProvider provider(String name) {
    return switch (name) {
      case "local" -> new LocalSgd.Provider();
      case "diloco" -> new DiLoCo.Provider();
      case "dpsgd" -> new DecentralizedSgd.Provider();
      case "allreduce" -> new AllReduceStrategy.Provider();
      default -> new Gossip.Provider();
    };
  }
}
