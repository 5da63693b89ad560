package io.vertigrad.internal.pipeline;

/**
 * One action of one stage in a step.
 *
 * @param kind the direction
 * @param microBatch index of the micro-batch, from 0
 */
record Action(Kind kind, int microBatch) {

  /** The direction in which values go. */
  public enum Kind {
    /** Activations arrive and are kept; the activations for the next stage are sent. */
    FORWARD,
    /** The gradient of the stage's output arrives; the gradient of its input is sent back. */
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
