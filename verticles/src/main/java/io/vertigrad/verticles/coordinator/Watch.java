package io.vertigrad.verticles.coordinator;

import java.util.List;

/** Notices who has fallen silent; time in which it did not look itself blames nobody. */
final class Watch {

  private final RosterConfig config;
  private final Attendance attendance;
  private final RosterNews news;
  private long lookedMillis;

  Watch(RosterConfig config, Attendance attendance, RosterNews news, long nowMillis) {
    this.config = config;
    this.attendance = attendance;
    this.news = news;
    lookedMillis = nowMillis;
  }

  /** Tells of new suspects, and gives back whoever has been silent for the eviction limit. */
  List<Attendee> overdue(long nowMillis) {
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
