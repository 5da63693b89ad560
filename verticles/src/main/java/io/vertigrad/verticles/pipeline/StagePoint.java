package io.vertigrad.verticles.pipeline;

/**
 * A state that a stage can go on from.
 *
 * @param version steps taken
 * @param run which training they were taken in; 0 before the first agreement
 */
record StagePoint(long version, long run) {

  /** The first parameters, which follow from the seed. */
  static final StagePoint BEGINNING = new StagePoint(0, 0);
}
