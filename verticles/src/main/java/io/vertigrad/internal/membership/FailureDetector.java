package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongSupplier;

/** Finds members that have fallen silent; time in which this process did not run does not count. */
final class FailureDetector {

  /**
   * The cluster drops a process that was stopped for long and takes some seconds to take it back.
   * Until then nobody can reach it.
   */
  private static final long RECONNECT_MILLIS = 20_000;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final CoordinatorEvents news;
  private final RunningTimeClock clock;
  private long leftOutMillis;

  FailureDetector(
      CoordinatorConfig config,
      MemberRegistry registry,
      CoordinatorEvents news,
      RunningTimeClock clock) {
    this.config = config;
    this.registry = registry;
    this.news = news;
    this.clock = clock;
  }

  /** Announces new suspects and returns the members that were silent for the eviction limit. */
  List<MemberRecord> overdue(long nowMillis) {
    if (clock.leftOutMillis() > leftOutMillis) {
      // What members sent meanwhile is still on its way to the coordinator.
      long frozen = clock.leftOutMillis() - leftOutMillis;
      leftOutMillis = clock.leftOutMillis();
      long reachable = frozen >= config.evictMillis() ? nowMillis + RECONNECT_MILLIS : nowMillis;
      registry.all().forEach(record -> record.forgive(reachable));
    }
    registry
        .all()
        .filter(record -> record.becomesSuspect(config.suspectMillis(), nowMillis))
        .forEach(suspect -> news.suspected(suspect.admission(), suspect.silentMillis(nowMillis)));
    return registry
        .all()
        .filter(record -> record.silentMillis(nowMillis) >= config.evictMillis())
        .toList();
  }

  /**
   * Monotonic milliseconds in which this process ran. Time in which it was stopped, or slept with its
   * machine, is left out, so that no limit passes because of it. One thread.
   *
   * <p>Read it far more often than its limit: two readings further apart than that mean that the
   * process did not run in between.
   */
  static final class RunningTimeClock implements LongSupplier {

    private final LongSupplier clockMillis;
    private final long limitMillis;
    private long readMillis;
    private long leftOutMillis;

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
        leftOutMillis += gap;
      }
      return now - leftOutMillis;
    }

    /** Returns how many milliseconds were left out so far; grows with every stop of the process. */
    long leftOutMillis() {
      return leftOutMillis;
    }
  }

  /**
   * Processes whose members were evicted for their silence and have not been heard from since; the
   * program that started such a process may end it.
   *
   * <p>A process that was only stopped speaks under its old incarnation as soon as it runs again, and
   * no longer counts as hung.
   */
  static final class HungProcesses {

    private final long limitMillis;
    private final Map<Admission, Silent> silent = new HashMap<>();

    private record Silent(String node, long sinceMillis) {}

    /**
     * Starts without any process.
     *
     * @param limitMillis silence after the eviction that makes a process hung
     */
    HungProcesses(long limitMillis) {
      this.limitMillis = limitMillis;
    }

    /** Records that a member was evicted for its silence. */
    void evicted(MemberRecord member, long nowMillis) {
      silent.put(member.admission(), new Silent(member.node(), nowMillis));
    }

    /** Records that an evicted member sent a heartbeat. */
    void spoke(Admission member) {
      Silent awake = silent.get(member);
      if (awake != null) {
        silent.values().removeIf(other -> other.node().equals(awake.node()));
      }
    }

    /** Returns the processes that have been silent for the limit, each once. */
    List<String> overdue(long nowMillis, MemberRegistry registry) {
      registry.all().forEach(here -> silent.values().removeIf(s -> s.node().equals(here.node())));
      List<String> found = new ArrayList<>();
      silent.values().stream()
          .filter(s -> nowMillis - s.sinceMillis() >= limitMillis)
          .map(Silent::node)
          .distinct()
          .forEach(found::add);
      silent.values().removeIf(s -> found.contains(s.node()));
      return found;
    }
  }

  /**
   * Finds members whose process is no longer in the cluster. The connections of an ended process
   * close at once, so the job need not wait for its silence to reach the eviction limit.
   *
   * <p>When none of the members' processes is in the cluster, the coordinator's own process was cut
   * off or stopped; then no member is reported.
   */
  static final class DepartedNodes {

    /** A node that the cluster has dropped by mistake may be back within this time. */
    private static final long PATIENCE_MILLIS = 500;

    private final MemberRegistry registry;
    private final Map<Admission, Long> missing = new HashMap<>();

    DepartedNodes(MemberRegistry registry) {
      this.registry = registry;
    }

    /**
     * Returns the members whose process has been out of the cluster for the patience limit.
     *
     * @param nodes nodes of the cluster, as the coordinator's process sees them
     */
    List<MemberRecord> look(Set<String> nodes, long nowMillis) {
      List<MemberRecord> absent =
          registry
              .all()
              .filter(member -> !member.clusterNode().isEmpty())
              .filter(member -> !nodes.contains(member.clusterNode()))
              .toList();
      missing.keySet().retainAll(absent.stream().map(MemberRecord::admission).toList());
      boolean cutOff = registry.all().noneMatch(member -> nodes.contains(member.clusterNode()));
      if (cutOff) {
        missing.clear();
        return List.of();
      }
      absent.forEach(member -> missing.putIfAbsent(member.admission(), nowMillis));
      return absent.stream()
          .filter(member -> nowMillis - missing.get(member.admission()) >= PATIENCE_MILLIS)
          .toList();
    }
  }
}
