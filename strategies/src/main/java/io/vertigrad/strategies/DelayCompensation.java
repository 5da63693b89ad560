package io.vertigrad.strategies;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.PartitionStore;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Delay compensation of Zheng et al. 2017 (DC-ASGD). A gradient that was computed at older
 * parameters is corrected by a first-order estimate of the gradient at the current ones:
 *
 * <pre>
 *   g &lt;- g + lambda g * g * (p - p_worker)                          constant
 *   s &lt;- m s + (1 - m) g * g;  lambda = lambda_0 / sqrt(s + 1e-7)   adaptive
 * </pre>
 *
 * where {@code p_worker} are the parameters that the worker computed at. This remembers what every
 * worker was sent last: one copy of the partition for each. A gradient at parameters that were not
 * sent as an answer is not corrected, which happens once after a worker has joined late. The mean
 * square s is in the partition's checkpoints.
 */
final class DelayCompensation {

  /** m, the share of the mean square that stays. */
  private static final double DECAY = 0.95;

  private static final double EPSILON = 1e-7;
  private static final long NONE = -1;

  private final Config config;
  private final PartitionStore store;
  private final Map<Integer, Copy> sent = new HashMap<>();
  private final float[] meanSquare;
  private final float[] nextMeanSquare;
  private final Copy current;
  private Copy first;

  /** The parameters at one version. */
  private static final class Copy {

    private long version = NONE;
    private final float[] parameters;

    Copy(int elements) {
      parameters = new float[elements];
    }

    void take(PartitionStore store) {
      store.parameters().copyTo(parameters, 0);
      version = store.version();
    }

    void take(Copy other) {
      System.arraycopy(other.parameters, 0, parameters, 0, parameters.length);
      version = other.version;
    }
  }

  DelayCompensation(Config config, PartitionStore store) {
    this.config = config;
    this.store = store;
    this.current = new Copy(store.length());
    boolean adaptive = config.kind() == Config.Kind.ADAPTIVE;
    this.meanSquare = adaptive ? store.memory(store.length()) : new float[0];
    this.nextMeanSquare = new float[meanSquare.length];
  }

  /** Corrects a gradient before it is applied. */
  void compensate(GradientPartition update, float[] gradient) {
    update();
    if (first == null) {
      // Workers have pulled this version: the initial parameters, or those of a checkpoint.
      first = new Copy(store.length());
      first.take(current);
    }
    for (int i = 0; i < meanSquare.length; i++) {
      double square = (double) gradient[i] * gradient[i];
      nextMeanSquare[i] = (float) (DECAY * meanSquare[i] + (1 - DECAY) * square);
    }
    float[] seen = parametersOf(update);
    for (int i = 0; seen != null && i < gradient.length; i++) {
      double lambda =
          meanSquare.length == 0
              ? config.rate()
              : config.rate() / Math.sqrt(nextMeanSquare[i] + EPSILON);
      double g = gradient[i];
      gradient[i] = (float) (g + lambda * g * g * (current.parameters[i] - seen[i]));
    }
  }

  /**
   * Stores the mean square of a gradient that was applied. A checkpoint that was begun before has
   * been copied by then.
   */
  void applied() {
    System.arraycopy(nextMeanSquare, 0, meanSquare, 0, meanSquare.length);
  }

  /** Remembers that a worker is answered with the current parameters. */
  void answered(ExchangeId id) {
    update();
    sent.computeIfAbsent(id.worker(), rank -> new Copy(store.length())).take(current);
  }

  /** Forgets workers that have left. */
  void membershipChanged(Membership now) {
    sent.keySet().removeIf(rank -> now.worker(rank).isEmpty());
  }

  private void update() {
    if (current.version != store.version()) {
      current.take(store);
    }
  }

  private float[] parametersOf(GradientPartition update) {
    Copy own = sent.get(update.id().worker());
    if (own != null && own.version == update.version()) {
      return own.parameters;
    }
    return first.version == update.version() ? first.parameters : null;
  }

  /**
   * The keys of the strategy's section.
   *
   * @param kind how lambda follows
   * @param rate lambda, or lambda_0
   */
  record Config(Kind kind, double rate) {

    /** How lambda follows. */
    enum Kind {
      CONSTANT,
      ADAPTIVE
    }

    private static final double CONSTANT_RATE = 0.04;
    private static final double ADAPTIVE_RATE = 2;

    /** Returns empty without compensation. */
    static Optional<Config> read(Settings settings) {
      String name = settings.choice("compensation", "none", "none", "constant", "adaptive");
      double otherwise = name.equals("adaptive") ? ADAPTIVE_RATE : CONSTANT_RATE;
      double rate = settings.number("compensationRate", otherwise, 0, 1e6);
      return switch (name) {
        case "constant" -> Optional.of(new Config(Kind.CONSTANT, rate));
        case "adaptive" -> Optional.of(new Config(Kind.ADAPTIVE, rate));
        default -> Optional.empty();
      };
    }
  }
}
