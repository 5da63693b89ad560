package io.vertigrad.engine.dl4j.kernels;

/**
 * A layer that tells when the gradient of its parameters is final. It does so before it computes
 * that of its input where it can, so that whoever is told has more time.
 */
interface ReportingLayer {

  /** From now on calls this in each backward pass. */
  void whenDone(Runnable done);
}
