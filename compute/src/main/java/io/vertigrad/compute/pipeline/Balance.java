package io.vertigrad.compute.pipeline;

/** The cost that an automatic split divides evenly among the stages. */
public enum Balance {
  /** Bytes of trainable parameters; the same on every machine. */
  PARAMETERS,
  /** Seconds of a forward and a backward pass, measured on the machine that makes the split. */
  TIME
}
