package io.vertigrad.federated;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The {@code strategy} section of a job file for {@code federated}.
 *
 * @param rule how workers step and servers combine
 * @param localSteps steps of a worker in a round; 1 with {@code localEpochs}
 * @param localEpochs passes of a worker over its own samples in a round; 0 for {@code localSteps}
 * @param keepsOptimizer whether the workers' optimizer keeps its state from round to round
 * @param mu weight of the proximal term of FedProx
 * @param serverLearningRate rate of the servers' step
 * @param beta1 decay of the mean of FedAdam and FedYogi
 * @param beta2 decay of their mean square
 * @param tau what they add to its root
 * @param buffer updates of a version of FedBuff
 * @param participation share of the workers that takes part in a round
 * @param deadlineMillis longest time that an update waits for the others
 * @param clip longest update, above which a worker shortens it; 0 for any length
 * @param noise standard deviation of the noise on every element of an update, divided by {@code
 *     clip}; 0 for none
 * @param reduction how servers combine updates
 */
record FederatedConfig(
    Rule rule,
    long localSteps,
    int localEpochs,
    boolean keepsOptimizer,
    double mu,
    double serverLearningRate,
    double beta1,
    double beta2,
    double tau,
    int buffer,
    double participation,
    long deadlineMillis,
    double clip,
    double noise,
    ReductionConfig reduction) {

  private static final long MOST_STEPS = 1_000_000_000;
  private static final int MOST_EPOCHS = 1_000_000;
  private static final int MOST_UPDATES = 65_536;
  private static final long MOST_MILLIS = 86_400_000;
  private static final double LONGEST_UPDATE = 1e9;
  private static final double MOST_NOISE = 1e6;

  /** The rules, named in job files by their names in lower case. */
  enum Rule {
    /** The mean by samples. */
    FEDAVG,
    /** FedAvg with a proximal term in the local steps. */
    FEDPROX,
    /** Control variates in the local steps, and the plain mean. */
    SCAFFOLD,
    /** The mean of normalised updates. */
    FEDNOVA,
    /** Adam with the mean. */
    FEDADAM,
    /** Yogi with the mean. */
    FEDYOGI,
    /** Buffers of updates without rounds. */
    FEDBUFF;

    String key() {
      return name().toLowerCase(Locale.ROOT);
    }

    /** Returns whether the servers step with moments of their own. */
    boolean adapts() {
      return this == FEDADAM || this == FEDYOGI;
    }

    /** Returns whether another reduction may take the place of the mean. */
    boolean reducesRobustly() {
      return this == FEDAVG || this == FEDPROX || adapts();
    }

    /** Returns why it needs the mean. */
    private String needOfMean() {
      return switch (this) {
        case SCAFFOLD -> "workers compute their control variates from the plain mean";
        case FEDNOVA -> "it weighs updates by steps, for which a wrong worker's word would count";
        default -> "a buffer has no round whose updates could be compared";
      };
    }

    private static Rule read(Settings settings) {
      String[] names = Stream.of(values()).map(Rule::key).toArray(String[]::new);
      return valueOf(settings.choice("rule", FEDAVG.key(), names).toUpperCase(Locale.ROOT));
    }
  }

  /** Reads the section. A key of another rule is not read: the resolved file must not have it. */
  static FederatedConfig read(Settings settings) {
    Rule rule = Rule.read(settings);
    refuseForeign(settings, rule, List.of(Rule.FEDPROX), "mu");
    refuseForeign(settings, rule, List.of(Rule.FEDADAM, Rule.FEDYOGI), "beta1", "beta2", "tau");
    refuseForeign(settings, rule, List.of(Rule.FEDBUFF), "buffer");
    if (settings.has("localSteps") && settings.has("localEpochs")) {
      throw settings.refuse(
          "localEpochs",
          "is given, and localSteps as well, expected one of them: remove the other");
    }
    int epochs =
        settings.has("localEpochs") ? settings.integer("localEpochs", 1, 1, MOST_EPOCHS) : 0;
    FederatedConfig config =
        new FederatedConfig(
            rule,
            epochs > 0 ? 1 : settings.longInteger("localSteps", 10, 1, MOST_STEPS),
            epochs,
            settings.choice("optimizerState", "restart", "restart", "keep").equals("keep"),
            rule == Rule.FEDPROX ? settings.number("mu", 0.01, 0, 1e6) : 0,
            settings.number("serverLearningRate", rule.adapts() ? 0.01 : 1, 1e-12, 1e6),
            rule.adapts() ? settings.number("beta1", 0.9, 0, 0.999999) : 0,
            rule.adapts() ? settings.number("beta2", 0.99, 0, 0.9999999) : 0,
            rule.adapts() ? settings.number("tau", 1e-3, 1e-12, 1e6) : 0,
            rule == Rule.FEDBUFF ? settings.integer("buffer", 10, 1, MOST_UPDATES) : 1,
            settings.number("participation", 1, 1e-6, 1),
            settings.longInteger("deadlineMillis", Barrier.DEADLINE_MILLIS, 1, MOST_MILLIS),
            settings.number("clip", 0, 0, LONGEST_UPDATE),
            settings.number("noise", 0, 0, MOST_NOISE),
            ReductionConfig.read(settings, ReductionConfig.Kind.MEAN));
    config.refuseMisfits(settings);
    return config;
  }

  private void refuseMisfits(Settings settings) {
    if (rule == Rule.SCAFFOLD && localEpochs > 0) {
      throw settings.refuse(
          "localEpochs",
          "is %s with rule scaffold, expected localSteps: its control variates need equal numbers of steps"
              .formatted(localEpochs));
    }
    if (rule == Rule.FEDBUFF && participation < 1) {
      throw settings.refuse(
          "participation",
          "is %s with rule fedbuff, expected 1: it has no rounds".formatted(participation));
    }
    if (!reduction.isPlainMean() && !rule.reducesRobustly()) {
      throw settings.refuse(
          "reduction",
          "is \"%s\" with rule %s, expected \"mean\": %s"
              .formatted(reduction.kind().key(), rule.key(), rule.needOfMean()));
    }
    refuseMisfitPrivacy(settings);
  }

  private void refuseMisfitPrivacy(Settings settings) {
    if (noise > 0 && clip == 0) {
      throw settings.refuse(
          "noise",
          "is %s without clip, expected the longest update as clip: noise hides an update only up to a length"
              .formatted(noise));
    }
    if (clip > 0 && rule == Rule.SCAFFOLD) {
      throw settings.refuse(
          "clip",
          "is %s with rule scaffold, expected 0: control variates need whole updates"
              .formatted(clip));
    }
    if (noise > 0 && rule == Rule.FEDBUFF) {
      throw settings.refuse(
          "noise",
          "is %s with rule fedbuff, expected 0: the number of a worker's updates, by which privacy is counted, is not limited by rounds"
              .formatted(noise));
    }
    if (noise > 0 && keepsOptimizer) {
      throw settings.refuse(
          "optimizerState",
          "is \"keep\" with noise, expected \"restart\": other members keep a copy of the state, which has no noise");
    }
  }

  private static void refuseForeign(
      Settings settings, Rule rule, List<Rule> rules, String... keys) {
    for (String key : keys) {
      if (!rules.contains(rule) && settings.has(key)) {
        throw settings.refuse(
            key,
            "is given with rule %s, expected rule %s: leave it out"
                .formatted(
                    rule.key(), String.join(" or ", rules.stream().map(Rule::key).toList())));
      }
    }
  }

  /** Returns what the strategy needs of its job. */
  StrategyTraits traits() {
    boolean rounds = rule != Rule.FEDBUFF;
    StrategyTraits traits = StrategyTraits.atServers(rounds ? Rounds.EVERY_RANK : Rounds.NONE);
    StrategyTraits local =
        localEpochs > 0 ? traits.passingLocally(localEpochs) : traits.steppingLocally(localSteps);
    return rounds ? reduction.traits(local) : local.collecting(buffer);
  }

  /** Returns the optimizer of the servers; FedAdam and FedYogi give it whole steps. */
  OptimizerConfig outer() {
    return OptimizerConfig.sgd(rule.adapts() ? 1 : serverLearningRate);
  }

  /** Returns what takes part of the privacy of workers away; empty without noise. */
  Optional<PrivacyLoss> privacyLoss(Participation participation, int ranks) {
    return noise == 0
        ? Optional.empty()
        : Optional.of(new PrivacyLoss(new PrivacyAccountant(noise, 1), participation, ranks));
  }

  /** Returns which workers take part, in a job of a seed. */
  Participation participation(long seed) {
    return new Participation(participation, seed);
  }
}
