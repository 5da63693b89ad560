package io.vertigrad.internal.membership;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Members whose process is no longer in the cluster. The connections of one that has ended close at
 * once, so that nobody has to wait for its silence.
 *
 * <p>Where none of the members' processes is in the cluster, it is the coordinator's that was cut
 * off, or slept; then nobody is blamed.
 */
final class DepartedNodes {

  /** A node that the others have dropped by mistake may be back at once. */
  private static final long PATIENCE_MILLIS = 500;

  private final MemberRegistry registry;
  private final Map<Admission, Long> missing = new HashMap<>();

  DepartedNodes(MemberRegistry registry) {
    this.registry = registry;
  }

  /**
   * Looks who is gone.
   *
   * @param nodes of the cluster, as the coordinator's own sees it
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
