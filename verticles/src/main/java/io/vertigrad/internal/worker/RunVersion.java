package io.vertigrad.internal.worker;

/**
 * A state that a replica can continue from: a version, and the run that reached it.
 *
 * @param version number of steps taken
 * @param run the training run that took them; 0 before the first agreement
 */
public record RunVersion(long version, long run) {

  /** The initial parameters, which follow from the seed. */
  public static final RunVersion BEGINNING = new RunVersion(0, 0);
}
