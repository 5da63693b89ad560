package io.vertigrad.compute.pipeline;

/** What an automatic split shares out evenly. */
public enum Balance {
  /** Bytes of trainable parameters; the same everywhere. */
  PARAMETERS,
  /** Seconds of a forward and a backward pass, measured where the split is made. */
  TIME
}
