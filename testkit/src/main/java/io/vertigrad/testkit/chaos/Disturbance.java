package io.vertigrad.testkit.chaos;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * One disturbance of a run.
 *
 * @param waitSeconds time after the job's start, or after the job has recovered from the last
 *     disturbance
 * @param inRecovery true when it does not wait for the recovery from the last disturbance
 * @param victim a member such as {@code worker 0}, {@link #COORDINATOR}, {@link #EVERYTHING} or
 *     {@link #LINK}
 * @param stoppedSeconds time for which the victim is stopped or the link is cut; 0 for {@code kill
 *     -9}
 */
public record Disturbance(
    double waitSeconds, boolean inRecovery, String victim, int stoppedSeconds) {

  /** The process of {@code train}, or the one that replaced it. */
  public static final String COORDINATOR = "coordinator";

  /** All processes of the run at once. */
  public static final String EVERYTHING = "everything";

  /** The network between one worker's node and all others. */
  public static final String LINK = "link";

  /** All processes of the run except the coordinator's. */
  public static final String MEMBERS = "all members";

  /**
   * Long enough to evict a member of {@link ChaosPlan#shortJob}, and too short to replace its
   * process as hung.
   */
  private static final int EVICTED_SECONDS = 3;

  /** The job has no checkpoint this soon after its start. */
  private static final double EARLY_SECONDS = 1.2;

  private static final double LEAST = 0.7;
  private static final double SPREAD = 0.6;
  private static final double IN_RECOVERY = 0.2;
  private static final double SOON = 0.5;
  private static final List<Integer> STOPPED_SECONDS = List.of(13, 30, 60);

  /**
   * Plans the disturbances of a run; the same arguments give the same victims and times. Every
   * victim is killed once before any is killed again. One disturbance in five comes before the job
   * has recovered from the last one.
   *
   * @param victims the possible victims
   * @param kills number of kills
   * @param stops number of stops, for 13, 30 and 60 s in turn
   * @param everySeconds mean time between two disturbances
   */
  public static List<Disturbance> plan(
      List<String> victims, long seed, int kills, int stops, double everySeconds) {
    Random random = new Random(seed);
    List<String> killed = inTurns(victims, kills, random);
    List<String> single = victims.stream().filter(one -> !one.equals(EVERYTHING)).toList();
    if (stops > 0 && single.isEmpty()) {
      throw new IllegalArgumentException("stops: everything cannot be stopped, only killed");
    }
    List<String> stopped = inTurns(single, stops, random);
    List<Disturbance> plan = new ArrayList<>();
    for (String victim : killed) {
      plan.add(new Disturbance(0, false, victim, 0));
    }
    for (int i = 0; i < stops; i++) {
      int seconds = STOPPED_SECONDS.get(Math.floorMod(seed + i, STOPPED_SECONDS.size()));
      plan.add(random.nextInt(plan.size() + 1), new Disturbance(0, false, stopped.get(i), seconds));
    }
    return plan.stream().map(one -> one.at(random, everySeconds)).toList();
  }

  /** Cuts the link after {@code waitSeconds} from the job's start, for {@code seconds}. */
  public static Disturbance cut(double waitSeconds, int seconds) {
    return new Disturbance(waitSeconds, false, LINK, seconds);
  }

  /**
   * Plans one disturbance for each of {@code runs} runs: all members are stopped early in the run,
   * for long enough to be evicted.
   */
  public static List<Disturbance> stopAll(long seed, int runs) {
    Random random = new Random(seed);
    return random
        .doubles(runs, 0, EARLY_SECONDS)
        .mapToObj(wait -> new Disturbance(wait, false, MEMBERS, EVICTED_SECONDS))
        .toList();
  }

  /**
   * Returns how long a run has to last at least, so that all disturbances come before its end.
   * Training continues while most processes are stopped.
   *
   * @param everySeconds mean time between two disturbances
   */
  public static double seconds(List<Disturbance> plan, double everySeconds) {
    return plan.size() * everySeconds + plan.stream().mapToInt(Disturbance::stoppedSeconds).sum();
  }

  private Disturbance at(Random random, double everySeconds) {
    double share = LEAST + SPREAD * random.nextDouble();
    boolean soon = random.nextDouble() < IN_RECOVERY;
    return new Disturbance((soon ? SOON : everySeconds) * share, soon, victim, stoppedSeconds);
  }

  /** Returns the kind of victim, for the figures: its role or its name. */
  public String kind() {
    return victim.split(" ")[0] + (isKill() ? "" : " stopped " + stoppedSeconds + " s");
  }

  /** Returns true when the victim is killed, and false when it is stopped or cut off. */
  public boolean isKill() {
    return stoppedSeconds == 0;
  }

  @Override
  public String toString() {
    if (victim.equals(LINK)) {
      return "cut the link for " + stoppedSeconds + " s";
    }
    return (isKill() ? "kill -9 " : "stop for " + stoppedSeconds + " s ") + victim;
  }

  private static List<String> inTurns(List<String> all, int count, Random random) {
    List<String> chosen = new ArrayList<>();
    while (chosen.size() < count) {
      List<String> turn = new ArrayList<>(all);
      Collections.shuffle(turn, random);
      chosen.addAll(turn);
    }
    return chosen.subList(0, count);
  }
}
