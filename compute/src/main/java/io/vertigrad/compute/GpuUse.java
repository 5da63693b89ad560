package io.vertigrad.compute;

/**
 * The use of the GPUs on which this process has models, by all processes together.
 *
 * @param busy sum of the shares of time in which each GPU computed, 0 to 1 each; 0 if unknown
 * @param bytes memory in use; 0 if unknown
 */
public record GpuUse(double busy, long bytes) {

  /** The value without a GPU, or for an engine that does not measure. */
  public static final GpuUse NONE = new GpuUse(0, 0);
}
