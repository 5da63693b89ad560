package io.vertigrad.engine.dl4j.kernels;

/**
 * A layer that reports when the gradient of its parameters is final. If possible it reports before
 * it computes the gradient of its input, to give the listener more time.
 */
interface ReportingLayer {

  /** Sets a listener that the layer calls in each backward pass. */
  void onGradientFinal(Runnable listener);
}
