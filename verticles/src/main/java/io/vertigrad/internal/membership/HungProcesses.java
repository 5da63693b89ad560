package io.vertigrad.internal.membership;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Processes whose members were evicted for their silence and have not been heard from since; the
 * program that started such a process may end it.
 *
 * <p>A process that was only stopped speaks under its old incarnation as soon as it runs again, and
 * no longer counts as hung.
 */
final class HungProcesses {

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
