package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Replicate;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Tracks which server keeps which backup, and which backups are complete.
 *
 * <p>Servers whose rank is at least the number of shards are backups: rank {@code shards + s}
 * belongs to shard {@code s}. A server sends every change to its backup and shows no change that
 * the backup does not have. To go on without the backup, it first has the coordinator drop it. A
 * backup that is complete here can therefore replace its server at any time.
 */
final class BackupServers {

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final Consumer<Decision> decisions;
  private final CoordinatorEvents events;
  private final Map<Integer, Pair> pairs = new HashMap<>();
  private final Map<Admission, Admission> promotions = new HashMap<>();

  private record Pair(Admission primary, Admission backup, boolean complete) {}

  BackupServers(
      CoordinatorConfig config,
      MemberRegistry registry,
      CoordinatorEvents events,
      Consumer<Decision> decisions) {
    this.events = events;
    this.config = config;
    this.registry = registry;
    this.decisions = decisions;
  }

  /** Returns whether this is a backup server, which serves nobody until it is promoted. */
  boolean isBackup(Admission member) {
    return member.role() == Role.SERVER && member.rank() >= config.servers();
  }

  /** Starts replication to every ready backup whose server is ready; called often. */
  void startReplication() {
    for (MemberRecord backup : registry.of(Role.SERVER)) {
      if (isBackup(backup.admission()) && backup.ready()) {
        int shard = shardOf(backup.admission());
        registry.readyServers().stream()
            .filter(primary -> primary.rank() == shard)
            .forEach(primary -> pair(shard, primary.admission(), backup.admission()));
      }
    }
  }

  private void pair(int shard, Admission primary, Admission backup) {
    Pair pair = pairs.get(shard);
    if (pair == null || !pair.primary().equals(primary) || !pair.backup().equals(backup)) {
      pairs.put(shard, new Pair(primary, backup, false));
      decisions.accept(new Replicate(primary, backup));
    }
  }

  /** Returns whether the server's answer about this backup still counts. */
  boolean isPending(Admission primary, Admission backup) {
    Pair pair = pairs.get(primary.rank());
    return pair != null
        && !pair.complete()
        && pair.primary().equals(primary)
        && pair.backup().equals(backup)
        && registry.find(primary).isPresent()
        && registry.find(backup).isPresent();
  }

  /** Records that this backup has everything that its server has, and stays complete. */
  void onCompleted(Admission primary, Admission backup) {
    if (isPending(primary, backup)) {
      pairs.put(primary.rank(), new Pair(primary, backup, true));
      events.backupChanged(primary.rank(), true, backup + " lacks nothing of it");
    }
  }

  /** Records that a member left; the shard whose backup it was has no backup any more. */
  void onLeft(Admission gone, String reason) {
    pairs.values().stream()
        .filter(pair -> pair.backup().equals(gone))
        .findFirst()
        .ifPresent(
            pair -> {
              pairs.remove(pair.primary().rank());
              if (pair.complete()) {
                events.backupChanged(pair.primary().rank(), false, gone + " left: " + reason);
              }
            });
  }

  /** Returns the complete backup that can replace this server; empty when there is none. */
  Optional<MemberRecord> successor(Admission primary) {
    Pair pair = pairs.get(primary.rank());
    return pair != null && pair.complete() && pair.primary().equals(primary)
        ? registry.find(pair.backup())
        : Optional.empty();
  }

  /** Records that this backup is being promoted to a server. */
  void onPromoted(Admission backup, Admission as) {
    pairs.remove(as.rank());
    promotions.put(backup, as);
    events.backupChanged(as.rank(), false, "%s has become %s".formatted(backup, as));
  }

  /** Returns whether a promoted server has not yet reported under its new rank. */
  boolean awaitsPromotion(Admission as) {
    return registry.find(as).filter(record -> !record.ready()).isPresent();
  }

  /** Returns whether this backup may not know yet that it was promoted. */
  boolean isBeingPromoted(Admission backup) {
    Admission as = promotions.get(backup);
    boolean pending = as != null && awaitsPromotion(as);
    if (as != null && !pending) {
      promotions.remove(backup);
    }
    return pending;
  }

  private int shardOf(Admission backup) {
    return backup.rank() % config.servers();
  }
}
