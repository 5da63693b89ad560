package io.vertigrad.internal.strategy;

import io.vertigrad.compute.settings.Settings;

/**
 * Settings of {@link DecentralizedSgd}.
 *
 * @param topology who exchanges with whom
 * @param conformance where coupled weight decay is added
 * @param momentum whether the optimizer's state is averaged along with the parameters
 */
record DecentralizedSgdConfig(TopologyConfig topology, Conformance conformance, Momentum momentum) {

  /** How closely the published ring program is followed. */
  enum Conformance {
    /** {@code optimizer.l2} once, at the point where the gradient was taken. */
    CLEAN,
    /** Once there and once more by the optimizer, at the average, as the published program does. */
    PUBLISHED
  }

  /** What becomes of the optimizer's state. */
  enum Momentum {
    /** Each worker keeps its own. */
    LOCAL,
    /** Averaged like the parameters; twice the bytes with momentum, three times with Adam. */
    AVERAGED
  }

  static DecentralizedSgdConfig read(Settings settings) {
    String conformance = settings.choice("conformance", "clean", "clean", "published");
    String momentum = settings.choice("momentum", "local", "local", "averaged");
    DecentralizedSgdConfig config =
        new DecentralizedSgdConfig(
            TopologyConfig.read(settings),
            conformance.equals("clean") ? Conformance.CLEAN : Conformance.PUBLISHED,
            momentum.equals("local") ? Momentum.LOCAL : Momentum.AVERAGED);
    settings.refuseUnknown();
    return config;
  }
}
