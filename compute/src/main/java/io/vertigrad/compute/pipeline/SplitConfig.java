package io.vertigrad.compute.pipeline;

import java.util.List;

/**
 * The way in which a model is cut into stages.
 *
 * @param stages number of stages
 * @param cuts names or indices of the layers with which all stages but the last end; empty to cut
 *     automatically
 * @param balance cost that an automatic split divides evenly
 * @param samples number of samples of a micro-batch, for measuring
 */
public record SplitConfig(int stages, List<String> cuts, Balance balance, int samples) {

  public SplitConfig {
    cuts = List.copyOf(cuts);
    if (stages < 1 || !cuts.isEmpty() && cuts.size() != stages - 1) {
      throw new IllegalArgumentException(
          "%s stages and %s cuts, expected one cut fewer than stages"
              .formatted(stages, cuts.size()));
    }
    if (samples < 1) {
      throw new IllegalArgumentException("samples %s: expected at least 1".formatted(samples));
    }
  }

  /**
   * Cuts after these layers.
   *
   * @param cuts layers with which all stages but the last end
   * @return the configuration
   */
  public static SplitConfig after(List<String> cuts) {
    return new SplitConfig(cuts.size() + 1, cuts, Balance.PARAMETERS, 1);
  }

  /**
   * Cuts into stages of nearly equal parameter bytes.
   *
   * @param stages number of stages
   * @return the configuration
   */
  public static SplitConfig into(int stages) {
    return new SplitConfig(stages, List.of(), Balance.PARAMETERS, 1);
  }

  /**
   * Returns true when the engine chooses the cuts.
   *
   * @return true unless layers were named
   */
  public boolean automatic() {
    return stages > 1 && cuts.isEmpty();
  }
}
