package io.vertigrad.internal.exchange;

/**
 * The result of a pull into a model.
 *
 * @param lowestVersion lowest version of any partition
 * @param highestVersion highest version of any partition; if it is above the lowest, training went
 *     on between two partitions and no worker ever had these parameters together
 * @param hash see {@link ParameterHash}
 */
public record ParameterSnapshot(long lowestVersion, long highestVersion, String hash) {

  /** Returns true if all partitions have the same version. */
  public boolean consistent() {
    return lowestVersion == highestVersion;
  }
}
