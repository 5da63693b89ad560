package io.vertigrad.compute.data;

/**
 * The settings by which samples are grouped into batches.
 *
 * @param size samples in a batch
 * @param dropLast whether an epoch's last batch is left out when it is smaller
 * @param ahead most batches that are kept ready
 * @param timeoutMillis longest wait for a batch before it fails
 * @param seed seed of the augmentation
 */
public record BatchConfig(int size, boolean dropLast, int ahead, long timeoutMillis, long seed) {

  private static final int DEFAULT_AHEAD = 3;
  private static final long DEFAULT_TIMEOUT_MILLIS = 60_000;

  public BatchConfig {
    if (size < 1 || ahead < 1 || timeoutMillis < 1) {
      throw new IllegalArgumentException(
          "size %s, ahead %s, timeoutMillis %s: expected each to be at least 1"
              .formatted(size, ahead, timeoutMillis));
    }
  }

  /**
   * Returns a configuration for batches of this size, with three kept ready and a timeout of one
   * minute.
   *
   * @param size samples of a batch
   * @param dropLast true to leave out an epoch's last, smaller batch
   * @param seed seed of the augmentation
   * @return the configuration
   */
  public static BatchConfig of(int size, boolean dropLast, long seed) {
    return new BatchConfig(size, dropLast, DEFAULT_AHEAD, DEFAULT_TIMEOUT_MILLIS, seed);
  }
}
