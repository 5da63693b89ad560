package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/**
 * Finds members that have fallen silent, members whose process has left the cluster, and processes
 * that hang. Time in which this process did not run does not count.
 */
final class FailureDetector {

  /**
   * The cluster drops a process that was stopped for long and takes some seconds to take it back.
   * Until then nobody can reach it.
   */
  private static final long RECONNECT_MILLIS = 20_000;

  /** A node that the cluster has dropped by mistake may be back within this time. */
  private static final long ABSENCE_MILLIS = 500;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final CoordinatorEvents events;
  private final RunningTimeClock clock;
  private final Map<Admission, Long> absentSinceMillis = new HashMap<>();
  private final Map<Admission, Evicted> evicted = new HashMap<>();
  private long pausedMillis;

  /** A member that was evicted for its silence and has not been heard from since. */
  private record Evicted(String node, long sinceMillis) {}

  FailureDetector(
      CoordinatorConfig config,
      MemberRegistry registry,
      CoordinatorEvents events,
      RunningTimeClock clock) {
    this.config = config;
    this.registry = registry;
    this.events = events;
    this.clock = clock;
  }

  /** Announces new suspects and returns the members that were silent for the eviction limit. */
  List<MemberRecord> overdue(long nowMillis) {
    if (clock.pausedMillis() > pausedMillis) {
      // What members sent meanwhile is still on its way to the coordinator.
      long frozen = clock.pausedMillis() - pausedMillis;
      pausedMillis = clock.pausedMillis();
      long reachable = frozen >= config.evictMillis() ? nowMillis + RECONNECT_MILLIS : nowMillis;
      registry.all().forEach(member -> member.restartSilence(reachable));
    }
    registry
        .all()
        .filter(member -> member.checkSuspect(config.suspectMillis(), nowMillis))
        .forEach(suspect -> events.suspected(suspect.admission(), suspect.silentMillis(nowMillis)));
    return registry
        .all()
        .filter(member -> member.silentMillis(nowMillis) >= config.evictMillis())
        .toList();
  }

  /**
   * Returns the members whose process has been out of the cluster for {@value #ABSENCE_MILLIS} ms.
   * The connections of an ended process close at once, so the job need not wait for its silence to
   * reach the eviction limit.
   *
   * <p>When none of the members' processes is in the cluster, the coordinator's own process was cut
   * off or stopped; then no member is reported.
   *
   * @param nodes nodes of the cluster, as the coordinator's process sees them
   */
  List<MemberRecord> departed(Set<String> nodes, long nowMillis) {
    List<MemberRecord> absent =
        registry
            .all()
            .filter(member -> !member.clusterNode().isEmpty())
            .filter(member -> !nodes.contains(member.clusterNode()))
            .toList();
    absentSinceMillis.keySet().retainAll(absent.stream().map(MemberRecord::admission).toList());
    boolean cutOff = registry.all().noneMatch(member -> nodes.contains(member.clusterNode()));
    if (cutOff) {
      absentSinceMillis.clear();
      return List.of();
    }
    absent.forEach(member -> absentSinceMillis.putIfAbsent(member.admission(), nowMillis));
    return absent.stream()
        .filter(member -> nowMillis - absentSinceMillis.get(member.admission()) >= ABSENCE_MILLIS)
        .toList();
  }

  /** Records that a member was evicted for its silence. */
  void onEvicted(MemberRecord member, long nowMillis) {
    evicted.put(member.admission(), new Evicted(member.node(), nowMillis));
  }

  /**
   * Records that a former member sent a heartbeat. A process that was only stopped sends one under
   * its old incarnation as soon as it runs again, and no longer counts as hung.
   */
  void onFormerMember(Admission former) {
    Evicted awake = evicted.get(former);
    if (awake != null) {
      evicted.values().removeIf(other -> other.node().equals(awake.node()));
    }
  }

  /**
   * Returns the processes that stayed silent for the eviction limit after their members were
   * evicted, each once; the program that started such a process may end it.
   */
  List<String> hungProcesses(long nowMillis) {
    registry
        .all()
        .forEach(member -> evicted.values().removeIf(e -> e.node().equals(member.node())));
    List<String> hung = new ArrayList<>();
    evicted.values().stream()
        .filter(silent -> nowMillis - silent.sinceMillis() >= config.evictMillis())
        .map(Evicted::node)
        .distinct()
        .forEach(hung::add);
    evicted.values().removeIf(silent -> hung.contains(silent.node()));
    return hung;
  }

  /**
   * Monotonic milliseconds in which this process ran. Time in which it was stopped, or slept with
   * its machine, is left out, so that no limit passes because of it. One thread.
   *
   * <p>Read it far more often than its limit: two readings further apart than that mean that the
   * process did not run in between.
   */
  static final class RunningTimeClock implements LongSupplier {

    private final LongSupplier clockMillis;
    private final long limitMillis;
    private long readMillis;
    private long pausedMillis;

    /**
     * Starts the clock.
     *
     * @param clockMillis monotonic milliseconds, which go on while the process is stopped
     * @param limitMillis longest time between two readings in which the process still ran
     */
    RunningTimeClock(LongSupplier clockMillis, long limitMillis) {
      this.clockMillis = clockMillis;
      this.limitMillis = limitMillis;
      readMillis = clockMillis.getAsLong();
    }

    @Override
    public long getAsLong() {
      long now = clockMillis.getAsLong();
      long gap = now - readMillis;
      readMillis = now;
      if (gap >= limitMillis) {
        pausedMillis += gap;
      }
      return now - pausedMillis;
    }

    /** Returns how many milliseconds were left out so far; grows with every stop of the process. */
    long pausedMillis() {
      return pausedMillis;
    }
  }
}
