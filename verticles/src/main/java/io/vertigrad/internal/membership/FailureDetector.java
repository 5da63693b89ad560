package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;

/**
 * Finds members that have fallen silent, members whose process has left the cluster, and processes
 * that hang. Time in which this process did not run, or did not get to read, does not count.
 */
final class FailureDetector {

  /**
   * The cluster drops a process that was stopped for long and takes some seconds to take it back.
   * Until then nobody can reach it.
   */
  private static final long RECONNECT_MILLIS = 20_000;

  /** A node that the cluster has dropped by mistake may be back within this time. */
  private static final long ABSENCE_MILLIS = 500;

  /** An event loop that is blocked for this many eviction limits hangs. */
  private static final int HUNG_LOOP_EVICTIONS = 6;

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

  /**
   * Records whether this process's event loops run what is posted to them. While one does not, a
   * heartbeat may wait there unread, or unsent by a member of this process, and nobody's silence
   * grows. An event loop that stays blocked for {@value #HUNG_LOOP_EVICTIONS} eviction limits
   * hangs, and excuses nobody any more.
   */
  void onEventLoops(boolean run) {
    clock.setStarved(!run, HUNG_LOOP_EVICTIONS * config.exchange().evictMillis());
  }

  /** Returns whether a member has been silent for long enough to look at the event loops. */
  boolean awaitsHeartbeat(long nowMillis) {
    return registry
        .all()
        .anyMatch(
            member -> member.silentMillis(nowMillis) >= config.exchange().suspectMillis() / 2);
  }

  /** Describes a member's silence, and the time that was left out of it. */
  String describeSilence(MemberRecord member, long nowMillis) {
    long leftOut = clock.starvedMillis(nowMillis - member.silentMillis(nowMillis));
    String silence = member.describeSilence(nowMillis);
    return leftOut == 0
        ? silence
        : "%s; %s ms more do not count, in which event loops of the coordinator's process did not run"
            .formatted(silence, leftOut);
  }

  /** Announces new suspects and returns the members that were silent for the eviction limit. */
  List<MemberRecord> overdue(long nowMillis) {
    if (clock.pausedMillis() > pausedMillis) {
      // What members sent meanwhile is still on its way to the coordinator.
      long frozen = clock.pausedMillis() - pausedMillis;
      pausedMillis = clock.pausedMillis();
      long reachable =
          frozen >= config.exchange().evictMillis() ? nowMillis + RECONNECT_MILLIS : nowMillis;
      registry.all().forEach(member -> member.restartSilence(reachable));
    }
    registry
        .all()
        .filter(member -> member.checkSuspect(config.exchange().suspectMillis(), nowMillis))
        .forEach(suspect -> events.suspected(suspect.admission(), suspect.silentMillis(nowMillis)));
    return registry
        .all()
        .filter(member -> member.silentMillis(nowMillis) >= config.exchange().evictMillis())
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
    absentSinceMillis
        .keySet()
        .retainAll(absent.stream().map(MemberRecord::admission).collect(Collectors.toSet()));
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
    if (evicted.isEmpty()) {
      return List.of();
    }
    Set<String> heard = registry.all().map(MemberRecord::node).collect(Collectors.toSet());
    evicted.values().removeIf(silent -> heard.contains(silent.node()));
    Set<String> hung =
        evicted.values().stream()
            .filter(silent -> nowMillis - silent.sinceMillis() >= config.exchange().evictMillis())
            .map(Evicted::node)
            .collect(Collectors.toCollection(LinkedHashSet::new));
    evicted.values().removeIf(silent -> hung.contains(silent.node()));
    return List.copyOf(hung);
  }

  /**
   * Monotonic milliseconds in which this process ran. Time in which it was stopped, slept with its
   * machine, or had a blocked event loop is left out, so that no limit passes because of it. One
   * thread.
   *
   * <p>Read it far more often than its limit: two readings further apart than that mean that the
   * process did not run in between.
   */
  static final class RunningTimeClock implements LongSupplier {

    /** So many of the latest starvations are kept, for messages. */
    private static final int STARVATIONS = 100;

    private final LongSupplier clockMillis;
    private final long limitMillis;
    private final NavigableMap<Long, Long> starvation = new TreeMap<>();
    private long readMillis;
    private long pausedMillis;
    private long starvedMillis;
    private long starvedLimitMillis;
    private boolean wasStarved;

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
      } else if (starvedLimitMillis > 0) {
        starvedLimitMillis -= gap;
        starvedMillis += gap;
        starvation.merge(readMillis - pausedMillis - starvedMillis, gap, Long::sum);
        if (starvation.size() > STARVATIONS) {
          starvation.pollFirstEntry();
        }
      }
      return now - pausedMillis - starvedMillis;
    }

    /**
     * Stops the clock while event loops do not run, for at most this time without a break.
     *
     * @param starved whether one does not run now
     */
    void setStarved(boolean starved, long atMostMillis) {
      getAsLong();
      if (!starved) {
        starvedLimitMillis = 0;
        wasStarved = false;
      } else if (!wasStarved) {
        starvedLimitMillis = atMostMillis;
        wasStarved = true;
      }
    }

    /** Returns how many milliseconds were left out for event loops since this time. */
    long starvedMillis(long sinceMillis) {
      return starvation.tailMap(sinceMillis, true).values().stream().mapToLong(m -> m).sum();
    }

    /** Returns how many milliseconds were left out so far; grows with every stop of the process. */
    long pausedMillis() {
      return pausedMillis;
    }
  }
}
