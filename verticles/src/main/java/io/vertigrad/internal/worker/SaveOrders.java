package io.vertigrad.internal.worker;

/** What a worker's checkpoints depend on besides its job; any thread. */
public interface SaveOrders {

  /** Name of the run that checkpoints belong to, once the worker was admitted. */
  String run();

  /** Version of which all members write a checkpoint, where that is left to time; 0 for none. */
  long saveAt();

  /** A checkpoint took this long to write. */
  void took(long millis);
}
