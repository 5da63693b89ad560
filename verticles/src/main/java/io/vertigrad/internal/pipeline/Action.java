package io.vertigrad.internal.pipeline;

/**
 * One thing that one stage does in a step.
 *
 * @param kind which way
 * @param microBatch index of the micro-batch, from 0
 */
record Action(Kind kind, int microBatch) {

  /** Which way values go. */
  public enum Kind {
    /** Activations come, are kept, and the next stage's go out. */
    FORWARD,
    /** The gradient of what went out comes, and that of what came in goes back. */
    BACKWARD
  }

  static Action forward(int microBatch) {
    return new Action(Kind.FORWARD, microBatch);
  }

  static Action backward(int microBatch) {
    return new Action(Kind.BACKWARD, microBatch);
  }

  @Override
  public String toString() {
    return (kind == Kind.FORWARD ? "F" : "B") + microBatch;
  }
}
