package io.vertigrad.internal.membership;

import java.util.List;

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
}
