package io.vertigrad.internal.membership;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds members whose process is no longer in the cluster. The connections of an ended process
 * close at once, so the job need not wait for its silence to reach the eviction limit.
 *
 * <p>When none of the members' processes is in the cluster, the coordinator's own process was cut
 * off or stopped; then no member is reported.
 */
final class DepartedNodes {

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
