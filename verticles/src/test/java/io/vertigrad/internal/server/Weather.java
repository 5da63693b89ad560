package io.vertigrad.internal.server;

/**
 * What a simulated network and its members suffer.
 *
 * @param drop probability that a frame vanishes
 * @param repeat probability that a frame is delivered twice
 * @param delayMillis longest delay; frames overtake each other within it
 * @param deaths workers that are killed, each to be replaced
 * @param crashes servers that are killed, each to be restarted from its last snapshot
 */
record Weather(double drop, double repeat, int delayMillis, int deaths, int crashes) {

  static final Weather FAIR = new Weather(0, 0, 1, 0, 0);
  static final Weather FOUL = new Weather(0.2, 0.2, 900, 0, 0);

  Weather withDeaths(int count) {
    return new Weather(drop, repeat, delayMillis, count, crashes);
  }

  Weather withCrashes(int count) {
    return new Weather(drop, repeat, delayMillis, deaths, count);
  }
}
