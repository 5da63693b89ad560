package io.vertigrad.internal.exchange;

/**
 * What was pulled into a model.
 *
 * @param lowestVersion lowest version of any partition
 * @param highestVersion highest; above the lowest when training went on between two partitions, so
 *     that these parameters never existed together on any worker
 * @param hash see {@link ParameterHash}
 */
public record ParameterSnapshot(long lowestVersion, long highestVersion, String hash) {

  /** True when all partitions came at one version. */
  public boolean consistent() {
    return lowestVersion == highestVersion;
  }
}
