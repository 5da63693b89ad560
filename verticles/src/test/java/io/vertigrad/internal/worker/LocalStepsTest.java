package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.worker.GradientSource.Computed;
import io.vertigrad.internal.worker.ParameterExchange.Overlap;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.LocalRule;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.json.JsonObject;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests rules beside local steps on the loss {@code 1/2 (w - 2)^2}. */
class LocalStepsTest {

  private static final float RATE = 0.1f;

  private final QuadraticModel model = new QuadraticModel(1, 0);
  private final List<Long> batches = new ArrayList<>();
  private double momentum;

  @Test
  void shouldSendZerosForOneSampleWhenTheRuleTakesNoStep() {
    LocalSteps steps = steps(rounds(Rounds.EVERY_RANK).steppingLocally(3), new Fixed(0));
    model.parameters[0] = 1;

    Computed computed = source(steps).compute(0, 0, Optional.empty());

    assertEquals(1, computed.samples());
    assertEquals(0, computed.countedSamples());
    assertArrayEquals(new float[] {0}, moved(steps));
    assertEquals(1, model.parameters[0]);
    assertEquals(List.of(), batches);
  }

  @Test
  void shouldTakeFewerStepsWhenTheRuleSaysSo() {
    LocalSteps steps = steps(rounds(Rounds.EVERY_RANK).steppingLocally(3), new Fixed(2));

    source(steps).compute(4, 4, Optional.empty());

    assertEquals(List.of(12L, 13L), batches);
    assertEquals(-2 * (1 - 0.9 * 0.9), moved(steps)[0], 1e-6);
  }

  /** The job has 20 steps; a pass of rank 1 over its 10 samples has three batches of 4. */
  @ParameterizedTest
  @CsvSource({
    "EVERY_RANK, 3, 0, 1, 3, 3",
    "EVERY_RANK, 3, 0, 6, 18, 2",
    "NONE, 3, 0, 9, 27, 3",
    "EVERY_RANK, 0, 2, 0, 0, 6",
    "EVERY_RANK, 0, 2, 5, 30, 6"
  })
  void shouldContinueWithTheNextBatchWhenAVersionBegins(
      Rounds rounds, long local, int epochs, long step, long first, int count) {
    StrategyTraits traits =
        epochs > 0 ? rounds(rounds).passingLocally(epochs) : rounds(rounds).steppingLocally(local);

    source(steps(traits, LocalRule.NONE)).compute(step, step, Optional.empty());

    assertEquals(first, batches.get(0));
    assertEquals(count, batches.size());
  }

  @Test
  void shouldAdjustEachGradientAndTheResultWhenTheRuleDoes() {
    LocalRule rule =
        new LocalRule() {
          @Override
          public boolean adjusts() {
            return true;
          }

          @Override
          public void adjust(float[] parameters, float[] gradient) {
            gradient[0] = parameters[0] + 1;
          }

          @Override
          public void finish(float[] moved) {
            moved[0] *= 10;
          }
        };
    LocalSteps steps = steps(rounds(Rounds.EVERY_RANK).steppingLocally(2), rule);

    source(steps).compute(0, 0, Optional.empty());

    // 0 - 0.1 * 1, and then - 0.1 * 0.9.
    assertEquals(1.9, moved(steps)[0], 1e-6);
    assertEquals(0, model.parameters[0], "the model has the servers' parameters again");
  }

  @Test
  void shouldSaveTheMemoryAndForgetItWhenAnIncarnationBegins() {
    float[] memory = {7};
    LocalRule rule =
        new LocalRule() {
          @Override
          public float[] memory() {
            return memory;
          }
        };
    StrategyTraits traits = rounds(Rounds.EVERY_RANK).steppingLocally(2);

    assertTrue(steps(traits, rule).keepsState());
    assertFalse(steps(traits, LocalRule.NONE).keepsState());
    source(steps(traits, rule));

    assertArrayEquals(new float[] {0}, memory);
  }

  @ParameterizedTest
  @CsvSource({"true, 0.2, 0.2", "false, 0.2, 0.38"})
  @Tag("slow")
  void shouldForgetTheVelocityWhenTheOptimizerRestarts(
      boolean restarts, double first, double second) {
    LocalRule rule =
        new LocalRule() {
          @Override
          public boolean restartsOptimizer() {
            return restarts;
          }
        };
    momentum = 0.9;
    LocalSteps steps = steps(rounds(Rounds.EVERY_RANK).steppingLocally(1), rule);
    GradientSource source = source(steps);

    source.compute(0, 0, Optional.empty());
    assertEquals(-first, moved(steps)[0], 1e-6);
    source.compute(1, 1, Optional.empty());

    assertEquals(-second, moved(steps)[0], 1e-6);
    assertEquals(!restarts, steps.keepsState());
  }

  private static StrategyTraits rounds(Rounds rounds) {
    return StrategyTraits.atServers(rounds);
  }

  private LocalSteps steps(StrategyTraits traits, LocalRule rule) {
    JsonObject file =
        new JsonObject()
            .put("job", "test")
            .put("engine", "quadratic")
            .put("steps", 20)
            .put("optimizer", new JsonObject().put("learningRate", RATE).put("momentum", momentum))
            .put("workers", new JsonObject().put("batch", 4));
    StrategyFactory strategy =
        StrategyFactory.besideServers(
                traits,
                context -> {
                  throw new AssertionError("no server here");
                })
            .withLocalRule((job, layout) -> rule);
    JobConfig job = JobConfig.read("test.json", file);
    return new LocalSteps(model, job, strategy, rank -> 9 + rank, 20);
  }

  private GradientSource source(LocalSteps steps) {
    SenderIdentity identity = new SenderIdentity(1, 1, 0);
    return steps.source(
        new Incarnation(identity, 0, 0, new StepGate(), () -> false), this::gradient);
  }

  private Computed gradient(long version, long step, Optional<Overlap> overlap) {
    batches.add(step);
    model.gradient(new Batch(new float[] {2}, new int[] {0}, List.of(1), 0));
    return new Computed(0, 4, 4, 0, 0, 0, 0, 0);
  }

  private static float[] moved(LocalSteps steps) {
    float[] moved = new float[1];
    steps.model().readGradient(0, FloatBuffer.wrap(moved));
    return moved;
  }

  /** A rule that takes a fixed number of steps. */
  private record Fixed(long steps) implements LocalRule {

    @Override
    public long begin(Round round, float[] parameters) {
      return steps;
    }
  }
}
