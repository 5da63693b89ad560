package io.vertigrad.benchmarks.diloco;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.DataType;
import io.vertigrad.compute.optimizer.Optimizer;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.PlainRules;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.LocalGradient;
import io.vertigrad.strategy.PeerContext;
import io.vertigrad.strategy.PeerStrategy;
import io.vertigrad.strategy.Replica;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.UnaryOperator;

/**
 * Trains the model of torchft's regression test of DiLoCo with the strategy {@code diloco}, and
 * records every step. The model has one weight for each fragment, all 1 at first; each gradient is
 * 2, the inner rate 1, the outer rate 2 without momentum. Two replicas take the steps of five
 * synchronisations.
 *
 * @param syncEvery the strategy's key of this name
 * @param fragments the strategy's key of this name
 * @param delay {@code fragmentSyncDelay}
 * @param alpha {@code fragmentUpdateAlpha}
 */
public record DiLoCoTrajectory(long syncEvery, int fragments, long delay, double alpha) {

  /** The name on the command line. */
  public static final String NAME = "diloco-trajectory";

  private static final String PREFIX = "vertigrad.benchmarks.";
  private static final int REPLICAS = 2;
  private static final int SYNCHRONISATIONS = 5;
  private static final float GRADIENT = 2;
  private static final double INNER_RATE = 1;
  private static final double OUTER_RATE = 2;
  private static final int MOST_VALUES = 10_000_000;

  /**
   * Reads the options.
   *
   * @param properties returns the value of a system property, or null
   * @throws IllegalArgumentException naming the option
   */
  public static DiLoCoTrajectory of(UnaryOperator<String> properties) {
    return new DiLoCoTrajectory(
        (long) number(properties, "syncEvery", 6),
        (int) number(properties, "fragments", 2),
        (long) number(properties, "delay", 0),
        number(properties, "alpha", 0));
  }

  private static double number(UnaryOperator<String> properties, String option, double otherwise) {
    String text = properties.apply(PREFIX + option);
    try {
      return text == null || text.isEmpty() ? otherwise : Double.parseDouble(text);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "--%s is %s, expected a number".formatted(option, text), e);
    }
  }

  /**
   * Trains and returns the parameters of each replica before each step, and the global parameters
   * at each synchronisation but the last, as the file of torchft has them.
   *
   * @throws io.vertigrad.compute.settings.SettingsException when the strategy refuses the settings
   * @throws IllegalArgumentException when there would be too many steps
   */
  public JsonObject toJson() {
    StrategyFactory strategy =
        StrategyProviders.named("diloco", getClass().getClassLoader())
            .configure(Settings.of(NAME, settings()));
    if (SYNCHRONISATIONS * syncEvery > MOST_VALUES) {
      throw new IllegalArgumentException(
          "--syncEvery is %s, expected at most %s".formatted(syncEvery, MOST_VALUES / 5));
    }
    ReplicaLink[] links = ReplicaLink.between(REPLICAS);
    ExecutorService threads = Executors.newFixedThreadPool(REPLICAS);
    try {
      JsonArray replicas = new JsonArray();
      Arrays.stream(links)
          .map(link -> CompletableFuture.supplyAsync(() -> train(strategy, link), threads))
          .toList()
          .forEach(replica -> replicas.add(replica.join()));
      return settings()
          .put("gradient", GRADIENT)
          .put("innerRate", INNER_RATE)
          .put("replicas", replicas);
    } finally {
      threads.shutdownNow();
    }
  }

  private JsonObject settings() {
    return new JsonObject()
        .put("syncEvery", syncEvery)
        .put("fragments", fragments)
        .put("fragmentSyncDelay", delay)
        .put("fragmentUpdateAlpha", alpha)
        .put("outerLearningRate", OUTER_RATE)
        .put("outerMomentum", 0);
  }

  private JsonObject train(StrategyFactory factory, ReplicaLink link) {
    float[] initial = new float[fragments];
    Arrays.fill(initial, 1);
    Replica replica = new Replica(initial, fragments, 1);
    PeerStrategy strategy = factory.create(context(link, replica));
    JsonObject parameters = new JsonObject();
    JsonObject globals = new JsonObject();
    strategy.open(link.adopt(), true);
    long interval = syncEvery / fragments;
    long steps = SYNCHRONISATIONS * interval;
    for (long step = 0; step < steps; step++) {
      parameters.put(Long.toString(step), json(replica.parameters()));
      if (step % interval == 0) {
        // The rule's memory begins with the global parameters.
        globals.put(Long.toString(step), json(Arrays.copyOf(strategy.memory(), fragments)));
      }
      strategy.begin();
      float[] gradient = new float[fragments];
      Arrays.fill(gradient, GRADIENT);
      strategy.complete(new LocalGradient(gradient, 1));
    }
    parameters.put(Long.toString(steps), json(replica.parameters()));
    return new JsonObject()
        .put("parametersBeforeStep", parameters)
        .put("globalParameters", globals);
  }

  private PeerContext context(ReplicaLink link, Replica replica) {
    return new PeerContext(
        link,
        replica,
        config -> new Optimizer(config, PlainRules.create(config, fragments), fragments),
        OptimizerConfig.sgd(INNER_RATE),
        REPLICAS,
        1,
        DataType.FLOAT32,
        Compression.NONE,
        1_024,
        System::nanoTime);
  }

  private static JsonArray json(float[] values) {
    JsonArray row = new JsonArray();
    for (float value : values) {
      row.add((double) value);
    }
    return row;
  }
}
