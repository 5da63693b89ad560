package io.vertigrad.strategies;

/**
 * The steps at which the fragments of a model are synchronised, one after another: fragment 0 at
 * step {@code interval}, fragment 1 at {@code 2 interval}, and so on, then fragment 0 again.
 *
 * @param syncEvery number of steps between two synchronisations of the same fragment, a multiple of
 *     {@code fragments}
 * @param fragments number of fragments
 * @param delay number of steps between the start and the end of a synchronisation, less than the
 *     interval
 */
record FragmentSchedule(long syncEvery, int fragments, long delay) {

  /** Returns the number of steps between two synchronisations. */
  long interval() {
    return syncEvery / fragments;
  }

  /** Returns true if a synchronisation starts after this many steps. */
  boolean begins(long steps) {
    return (steps + delay) % interval() == 0;
  }

  /** Returns true if a synchronisation ends after this many steps. */
  boolean ends(long steps) {
    return steps % interval() == 0;
  }

  /** Returns true if a synchronisation has started by this many steps and ends later. */
  boolean isUnderWay(long steps) {
    return steps % interval() != 0 && steps % interval() >= interval() - delay;
  }

  /** Returns the fragment of the synchronisation that ends at this step or next. */
  int fragment(long steps) {
    long synchronisation = (steps + interval() - 1) / interval() - 1;
    return (int) (synchronisation % fragments);
  }

  /** Returns the index of a fragment's first element in a vector of this many elements. */
  int first(int fragment, int elements) {
    return (int) ((long) elements * fragment / fragments);
  }

  /** Returns the number of elements of a fragment. */
  int length(int fragment, int elements) {
    return first(fragment + 1, elements) - first(fragment, elements);
  }
}
