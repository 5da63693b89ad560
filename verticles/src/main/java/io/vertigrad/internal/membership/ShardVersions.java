package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The newest version of each shard that any member has reported. Announces a server that continues
 * from an older one, with both versions.
 */
final class ShardVersions {

  /**
   * Versions that a server may be behind without a rollback: an unanswered update is sent again.
   */
  private static final long UNANSWERED_UPDATES = 1;

  private final CoordinatorEvents events;
  private final Map<Integer, Long> newest = new HashMap<>();
  private final Set<Admission> serving = new HashSet<>();

  ShardVersions(CoordinatorEvents events) {
    this.events = events;
  }

  /** Notes that a member holds, or has seen, this version of a shard. */
  void record(int shard, long version) {
    newest.merge(shard, version, Math::max);
  }

  /**
   * Announces a rollback if a server that is about to serve its shard goes back. Further calls for
   * the same server, and calls for one without parameters, have no effect.
   */
  void announceServing(MemberRecord server) {
    if (server.version().isPresent() && serving.add(server.admission())) {
      long version = server.version().getAsLong();
      announceRollback(server.rank(), version);
    }
  }

  /** Announces that a newer version than that of the serving server is given up. */
  void announceGivenUp(MemberRecord server, long version) {
    if (version > newest.getOrDefault(server.rank(), 0L)) {
      record(server.rank(), version);
      announceRollback(server.rank(), server.version().orElse(0));
    }
  }

  private void announceRollback(int shard, long version) {
    long known = newest.getOrDefault(shard, 0L);
    if (known > version + UNANSWERED_UPDATES) {
      events.rolledBack(shard, known, version, "");
    }
    newest.put(shard, version);
  }
}
