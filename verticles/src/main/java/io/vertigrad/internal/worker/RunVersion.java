package io.vertigrad.internal.worker;

/**
 * A state that a replica can go on from: a version, and the run that reached it.
 *
 * @param version steps taken
 * @param run which training they were taken in; 0 before the first agreement
 */
public record RunVersion(long version, long run) {

  /** The initial parameters, which follow from the seed. */
  public static final RunVersion BEGINNING = new RunVersion(0, 0);
}
