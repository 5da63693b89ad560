package io.vertigrad.testkit;

/**
 * The faults of a simulated network and of the members.
 *
 * @param drop probability that a frame is lost, from 0 to below 1
 * @param duplicate probability that a frame is delivered twice, from 0 to below 1
 * @param delayMillis delays are uniform below this, at least 1; frames overtake each other
 * @param workerDeaths number of workers that are killed; each is replaced
 * @param serverCrashes number of servers that are killed; each is restarted from a snapshot that it
 *     stored
 * @param cuts number of times that one worker and one server cannot reach each other for some
 *     seconds
 * @param workerStops number of workers that stop for some seconds, are replaced, and then continue
 *     without knowing it
 */
public record NetworkConditions(
    double drop,
    double duplicate,
    int delayMillis,
    int workerDeaths,
    int serverCrashes,
    int cuts,
    int workerStops) {

  /** No faults: every frame arrives once and without delay, and no member fails. */
  public static final NetworkConditions RELIABLE = new NetworkConditions(0, 0, 1, 0, 0, 0, 0);

  /** One frame in five is lost, one in five is repeated, delays are below 900 ms. */
  public static final NetworkConditions UNRELIABLE =
      new NetworkConditions(0.2, 0.2, 900, 0, 0, 0, 0);

  /** Checks the ranges. */
  public NetworkConditions {
    boolean probabilities = drop >= 0 && drop < 1 && duplicate >= 0 && duplicate < 1;
    boolean counts = workerDeaths >= 0 && serverCrashes >= 0 && cuts >= 0 && workerStops >= 0;
    if (!probabilities || delayMillis < 1 || !counts) {
      throw new IllegalArgumentException(
          ("network conditions: drop %s, duplicate %s, delay %s ms, %s worker deaths, %s server"
                  + " crashes, %s cuts, %s worker stops; expected probabilities from 0 to below 1, a delay of at least 1 ms,"
                  + " and counts of at least 0")
              .formatted(
                  drop, duplicate, delayMillis, workerDeaths, serverCrashes, cuts, workerStops));
    }
  }

  /**
   * Returns a copy with another number of workers that are killed.
   *
   * @param count number of workers to kill
   * @return a copy with that many deaths
   */
  public NetworkConditions withWorkerDeaths(int count) {
    return new NetworkConditions(
        drop, duplicate, delayMillis, count, serverCrashes, cuts, workerStops);
  }

  /**
   * Returns a copy with another number of servers that are killed.
   *
   * @param count number of servers to kill
   * @return a copy with that many crashes
   */
  public NetworkConditions withServerCrashes(int count) {
    return new NetworkConditions(
        drop, duplicate, delayMillis, workerDeaths, count, cuts, workerStops);
  }

  /**
   * Returns a copy with another number of cuts.
   *
   * @param count number of times that a worker and a server cannot reach each other
   * @return a copy with that many cuts
   */
  public NetworkConditions withCuts(int count) {
    return new NetworkConditions(
        drop, duplicate, delayMillis, workerDeaths, serverCrashes, count, workerStops);
  }

  /**
   * Returns a copy with another number of workers that stop.
   *
   * @param count number of workers that are evicted while they only stopped
   * @return a copy with that many stops
   */
  public NetworkConditions withWorkerStops(int count) {
    return new NetworkConditions(
        drop, duplicate, delayMillis, workerDeaths, serverCrashes, cuts, count);
  }
}
