package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.LocalRule;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.testkit.LivenessContract;
import io.vertigrad.testkit.RobustContract;
import io.vertigrad.testkit.StrategyContract;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Holds the contract of rules beside servers, and the job files that the strategy refuses. */
class FederatedProviderTest extends StrategyContract {

  @Override
  protected String settings() {
    return settings("fedavg");
  }

  private static String settings(String rule) {
    return "{\"name\": \"federated\", \"localSteps\": 1, \"rule\": \"%s\"}".formatted(rule);
  }

  @Nested
  class Scaffold extends StrategyContract {

    @Override
    protected String settings() {
      return FederatedProviderTest.settings("scaffold");
    }
  }

  @Nested
  class FedNova extends StrategyContract {

    @Override
    protected String settings() {
      return FederatedProviderTest.settings("fednova");
    }
  }

  @Nested
  class FedYogi extends LivenessContract {

    @Override
    protected String settings() {
      return FederatedProviderTest.settings("fedyogi");
    }
  }

  @Nested
  class Clipping extends RobustContract {

    @Override
    protected String settings() {
      return withReduction("fedavg", "centredClipping");
    }
  }

  @Nested
  class Krum extends RobustContract {

    @Override
    protected String settings() {
      return withReduction("fedprox", "krum");
    }
  }

  @Nested
  class FedAdamOfClipped extends LivenessContract {

    @Override
    protected String settings() {
      return withReduction("fedadam", "centredClipping");
    }
  }

  private static String withReduction(String rule, String reduction) {
    return settings(rule).replace("}", ", \"reduction\": \"%s\"}".formatted(reduction));
  }

  @Nested
  class FedBuff extends StrategyContract {

    @Override
    protected String settings() {
      return FederatedProviderTest.settings("fedbuff").replace("}", ", \"buffer\": 1}");
    }
  }

  @Nested
  class FedBuffOfThree extends LivenessContract {

    @Override
    protected String settings() {
      return FederatedProviderTest.settings("fedbuff").replace("}", ", \"buffer\": 3}");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'\"localSteps\": 30', 100, 8, 4, 0.5",
    "'\"localEpochs\": 5', 50, 8, 50, 0.2",
    "'\"rule\": \"fedbuff\", \"localSteps\": 10, \"buffer\": 4', 100, 8, 20, 1.5",
    "'\"rule\": \"fedbuff\", \"localEpochs\": 2, \"buffer\": 3', 10, 8, 27, 0.5"
  })
  void shouldCountRoundsAsVersionsWhenWorkersStepByThemselves(
      String keys, long steps, int workers, long versions, double roundsOf15Steps) {
    JobConfig job = job("{\"name\": \"federated\", %s}".formatted(keys), "{}");
    StrategyFactory strategy = StrategyProviders.configure(job, getClass().getClassLoader());
    StrategyTraits traits = strategy.traits();

    assertEquals(versions, traits.lastVersion(steps, workers));
    assertEquals(roundsOf15Steps, traits.roundsPerEpoch(15), 1e-12);
  }

  @Test
  void shouldStepWithTheServersRateWhenTheRuleIsNotAdaptive() {
    JobConfig job = job("{\"name\": \"federated\", \"serverLearningRate\": 0.5}", "{}");
    JobConfig adaptive = job("{\"name\": \"federated\", \"rule\": \"fedadam\"}", "{}");
    ClassLoader loader = getClass().getClassLoader();

    assertEquals(0.5, StrategyProviders.configure(job, loader).optimizer(job).learningRate());
    assertEquals(1, StrategyProviders.configure(adaptive, loader).optimizer(job).learningRate());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "\"rule\": \"fed\"; {}; strategy.rule is \"fed\"",
        "\"mu\": 1; {}; strategy.mu is given with rule fedavg, expected rule fedprox",
        "\"tau\": 1; {}; strategy.tau is given with rule fedavg, expected rule fedadam or fedyogi",
        "\"buffer\": 2; {}; strategy.buffer is given with rule fedavg, expected rule fedbuff",
        "\"localSteps\": 2, \"localEpochs\": 1; {}; strategy.localEpochs is given, and localSteps",
        "\"rule\": \"scaffold\", \"localEpochs\": 1; {}; strategy.localEpochs is 1 with rule scaffold",
        "\"rule\": \"fedbuff\", \"participation\": 0.5; {}; strategy.participation is 0.5 with rule",
        "\"speed\": 1; {}; strategy.speed",
        "\"rule\": \"scaffold\", \"reduction\": \"krum\"; {}; strategy.reduction is \"krum\" with rule scaf",
        "\"rule\": \"fednova\", \"reduction\": \"median\"; {}; strategy.reduction is \"median\" with rule fe",
        "\"rule\": \"fedbuff\", \"reduction\": \"median\"; {}; strategy.reduction is \"median\" with rule fe",
        "\"liars\": 1; {}; strategy.liars is 1 with reduction \"mean\"",
        "\"reduction\": \"krum\"; {\"workers\": {\"count\": 4}}; strategy.liars is 1 with 4 workers in a",
        "\"reduction\": \"median\", \"participation\": 0.5; {\"workers\": {\"count\": 4}}; with 2 workers in",
        "\"noise\": 1; {}; strategy.noise is 1.0 without clip, expected",
        "\"rule\": \"scaffold\", \"clip\": 1; {}; strategy.clip is 1.0 with rule scaffold",
        "\"rule\": \"fedbuff\", \"clip\": 1, \"noise\": 1; {}; strategy.noise is 1.0 with rule fedbuff",
        "\"clip\": 1, \"noise\": 1, \"optimizerState\": \"keep\"; {}; strategy.optimizerState is \"keep\" with",
        "\"localSteps\": 2; {\"exchange\": {\"overlap\": true}}; exchange.overlap is true with",
        "\"localSteps\": 2; {\"data\": {\"name\": \"stream\"}}; data.name is stream with strategy",
        "\"localSteps\": 2; {\"pipeline\": {\"stages\": 2}}; strategy.name is \"federated\" with a pi",
        "\"localEpochs\": 2; {\"epochs\": 3}; epochs is given with strategy.localEpochs, expected st",
        "\"localEpochs\": 2; {\"totalSteps\": 8}; totalSteps is given with strategy.localEpochs",
        "\"localEpochs\": 2; {\"optimizer\": {\"schedule\": {\"name\": \"cosine\"}}}; epochs is missing",
        "\"participation\": 0.5; {\"workers\": {\"sampler\": \"none\"}}; workers.sampler is \"none\"",
        "\"participation\": 0.5; {\"exchange\": {\"compression\": \"int8\"}}; exchange.compression is",
        "\"rule\": \"scaffold\"; {\"optimizer\": {\"name\": \"adam\"}}; optimizer.name is adam, expec",
        "\"rule\": \"scaffold\"; {\"optimizer\": {\"momentum\": 0.9}}; optimizer.momentum is 0.9",
        "\"rule\": \"scaffold\"; {\"exchange\": {\"type\": \"bfloat16\"}}; exchange.type is bfloat16",
        "\"rule\": \"scaffold\"; {\"exchange\": {\"compression\": \"int8\"}}; exchange.compression is",
        "\"rule\": \"scaffold\"; {\"optimizer\": {\"schedule\": {\"name\": \"cosine\"}}}; optimizer.sch",
        "\"rule\": \"fednova\"; {\"optimizer\": {\"name\": \"adam\"}}; optimizer.name is adam, expect",
        "\"rule\": \"fednova\"; {\"optimizer\": {\"name\": \"nesterov\"}}; optimizer.name is nesterov, exp",
        "\"rule\": \"fednova\"; {\"optimizer\": {\"momentum\": 0.9, \"dampening\": 0.1}}; optimizer.damp",
        "\"rule\": \"fednova\", \"optimizerState\": \"keep\"; {\"optimizer\": {\"momentum\": 0.9}}; strategy.opt"
      })
  void shouldRefuseTheJobFileWhenItsOptionsDoNotFit(String keys, String rest, String message) {
    String strategy = "{\"name\": \"federated\", %s}".formatted(keys);

    SettingsException refused =
        assertThrows(
            SettingsException.class,
            () -> StrategyProviders.configure(job(strategy, rest), getClass().getClassLoader()));

    assertTrue(refused.getMessage().contains(message), refused.getMessage());
  }

  @Test
  void shouldSendWholeUpdatesWhenARoundNeedsSumsOverAllPartitions() {
    assertTrue(traits("\"reduction\": \"krum\"").sumsPartitions());
    assertFalse(traits("\"reduction\": \"median\"").sumsPartitions());
    assertFalse(traits("\"rule\": \"fedadam\"").sumsPartitions());
    assertEquals(7, traits("\"reduction\": \"krum\", \"localSteps\": 7").localSteps());
  }

  private static StrategyTraits traits(String keys) {
    JobConfig job =
        job("{\"name\": \"federated\", %s}".formatted(keys), "{\"workers\": {\"count\": 5}}");
    return StrategyProviders.configure(job, FederatedProviderTest.class.getClassLoader()).traits();
  }

  @Test
  void shouldRefuseAModelWithStatisticsWhenUpdatesGetNoise() {
    JobConfig job = job("{\"name\": \"federated\", \"clip\": 1, \"noise\": 1}", "{}");
    StrategyFactory strategy = StrategyProviders.configure(job, getClass().getClassLoader());
    Block weights = new Block("w", List.of(4), Block.Kind.TRAINABLE);
    Block mean = new Block("mean", List.of(2), Block.Kind.STATISTIC);
    ParameterLayout normalised = new ParameterLayout(List.of(weights, mean));

    SettingsException refused =
        assertThrows(SettingsException.class, () -> strategy.localRule(job, normalised));

    assertTrue(refused.getMessage().contains("strategy.noise is 1.0"), refused.getMessage());
  }

  @Test
  void shouldSendClippedUpdatesWithNoiseWhenTheJobAsksForPrivacy() {
    int length = 20_000;
    ParameterLayout layout =
        new ParameterLayout(List.of(new Block("w", List.of(length), Block.Kind.TRAINABLE)));
    float[] clipped = finished("{\"name\": \"federated\", \"clip\": 2}", layout);
    float[] noisy = finished("{\"name\": \"federated\", \"clip\": 2, \"noise\": 0.5}", layout);

    double noise = 0;
    for (int i = 0; i < length; i++) {
      assertEquals(2 / Math.sqrt(length), clipped[i], 1e-7);
      noise += Math.pow(noisy[i] - clipped[i], 2) / length;
    }
    // The estimate of a deviation of 1 from 20,000 numbers has a deviation of 0.005.
    assertEquals(1, Math.sqrt(noise), 0.03);
  }

  /** Returns what a worker sends that has moved by 1 in every direction. */
  private static float[] finished(String strategy, ParameterLayout layout) {
    JobConfig job = job(strategy, "{}");
    LocalRule rule =
        StrategyProviders.configure(job, FederatedProviderTest.class.getClassLoader())
            .localRule(job, layout);
    float[] moved = new float[layout.length()];
    Arrays.fill(moved, 1);
    rule.begin(new LocalRule.Round(0, 0, 1), new float[moved.length]);
    rule.finish(moved);
    return moved;
  }

  private static JobConfig job(String strategy, String rest) {
    JsonObject json = new JsonObject(rest).put("strategy", new JsonObject(strategy));
    return JobConfig.read("test.json", json);
  }
}
