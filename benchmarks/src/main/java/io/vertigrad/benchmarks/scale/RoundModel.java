package io.vertigrad.benchmarks.scale;

/**
 * Closed formulas of one round, for more workers than can be simulated. Computing takes no time.
 *
 * @param elements number of parameters, 4 bytes each
 * @param bytesPerSecond bandwidth of each machine's link, each way
 * @param latencySeconds time from one machine to another
 */
record RoundModel(long elements, double bytesPerSecond, double latencySeconds) {

  private static final int ELEMENT_BYTES = 4;

  /** Returns the seconds in which one copy of the model passes a link. */
  double copySeconds() {
    return elements * ELEMENT_BYTES / bytesPerSecond;
  }

  /**
   * Returns the seconds of a round with servers: all gradients pass the servers' links, then all
   * answers.
   */
  double serverSeconds(int workers, int servers) {
    return 2 * (Math.max(1, (double) workers / servers) * copySeconds() + latencySeconds);
  }

  /** Returns the number of messages of a round with servers. */
  static long serverMessages(int workers, long partitions) {
    return 2 * workers * partitions;
  }

  /** Returns the seconds of an all-reduce around the ring: 2 (N - 1) phases, each a chunk long. */
  double ringSeconds(int workers) {
    double phases = 2.0 * (workers - 1);
    return phases * (copySeconds() / workers + latencySeconds);
  }

  /**
   * Returns the number of messages of an all-reduce around the ring, whose vector has one element
   * more than the model: the number of samples.
   *
   * @param most most elements of a message
   */
  long ringMessages(int workers, int most) {
    long vector = elements + 1;
    long each = 0;
    for (int chunk = 0; chunk < workers; chunk++) {
      long length = (chunk + 1) * vector / workers - chunk * vector / workers;
      each += (length + most - 1) / most;
    }
    return 2L * (workers - 1) * each;
  }

  /**
   * Returns the mean seconds of a step in groups: an all-reduce in each group, and from time to
   * time one among the groups, whose result goes around each group.
   *
   * @param every number of steps between two exchanges of the groups
   */
  double groupedSeconds(int workers, int groups, int every) {
    int size = workers / groups;
    double between = ringSeconds(groups) + copySeconds() + (size - 1) * latencySeconds;
    return ringSeconds(size) + between / every;
  }
}
