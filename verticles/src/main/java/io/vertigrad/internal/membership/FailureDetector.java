package io.vertigrad.internal.membership;

import java.util.List;

/** Notices who has fallen silent; time in which it did not look itself blames nobody. */
final class FailureDetector {

  /**
   * Who slept for long was dropped by its cluster, which takes some seconds to take it back; until
   * then nobody can reach it.
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

  /** Tells of new suspects, and gives back whoever has been silent for the eviction limit. */
  List<MemberRecord> overdue(long nowMillis) {
    if (clock.leftOutMillis() > leftOutMillis) {
      // What members said meanwhile is still on its way to the coordinator.
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
