package io.vertigrad.internal.membership;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Processes whose members were evicted for their silence and were not heard of since; whoever
 * started one may end it then.
 *
 * <p>One that only slept speaks as soon as it wakes up, under its old incarnation, and is no hung
 * process any more.
 */
final class HungProcesses {

  private final long limitMillis;
  private final Map<Admission, Silent> silent = new HashMap<>();

  private record Silent(String node, long sinceMillis) {}

  /**
   * Knows of no process yet.
   *
   * @param limitMillis silence after the eviction
   */
  HungProcesses(long limitMillis) {
    this.limitMillis = limitMillis;
  }

  /** A member was evicted for its silence. */
  void evicted(MemberRecord member, long nowMillis) {
    silent.put(member.admission(), new Silent(member.node(), nowMillis));
  }

  /** An evicted member was heard of. */
  void spoke(Admission member) {
    Silent awake = silent.get(member);
    if (awake != null) {
      silent.values().removeIf(other -> other.node().equals(awake.node()));
    }
  }

  /** Returns the processes that are silent for the limit, each once. */
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
