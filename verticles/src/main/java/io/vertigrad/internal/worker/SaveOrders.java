package io.vertigrad.internal.worker;

/** The coordinator's orders for a worker's checkpoints. May be called by any thread. */
public interface SaveOrders {

  /** Returns the name of the run that checkpoints belong to, once the worker was admitted. */
  String run();

  /** Returns the version at which all members write a timed checkpoint; 0 for none. */
  long saveAt();

  /** Records how long a checkpoint took to write. */
  void took(long millis);
}
