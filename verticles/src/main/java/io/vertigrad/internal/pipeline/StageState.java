package io.vertigrad.internal.pipeline;

/**
 * A state that a stage can go on from.
 *
 * @param version steps taken
 * @param run which training they were taken in; 0 before the first agreement
 */
record StageState(long version, long run) {

  /** The first parameters, which follow from the seed. */
  static final StageState BEGINNING = new StageState(0, 0);
}
