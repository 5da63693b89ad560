package io.vertigrad.internal.membership;

import java.util.List;

/** Notices who has fallen silent; time in which it did not look itself blames nobody. */
final class FailureDetector {

  private final CoordinatorConfig config;
  private final MemberRegistry attendance;
  private final CoordinatorEvents news;
  private long lookedMillis;

  FailureDetector(
      CoordinatorConfig config, MemberRegistry attendance, CoordinatorEvents news, long nowMillis) {
    this.config = config;
    this.attendance = attendance;
    this.news = news;
    lookedMillis = nowMillis;
  }

  /** Tells of new suspects, and gives back whoever has been silent for the eviction limit. */
  List<MemberRecord> overdue(long nowMillis) {
    if (nowMillis - lookedMillis >= config.suspectMillis()) {
      attendance.all().forEach(attendee -> attendee.forgive(nowMillis));
    }
    lookedMillis = nowMillis;
    attendance
        .all()
        .filter(attendee -> attendee.becomesSuspect(config.suspectMillis(), nowMillis))
        .forEach(suspect -> news.suspected(suspect.admission(), suspect.silentMillis(nowMillis)));
    return attendance
        .all()
        .filter(attendee -> attendee.silentMillis(nowMillis) >= config.evictMillis())
        .toList();
  }
}
