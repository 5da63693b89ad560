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
  private final CoordinatorEvents news;
  private final Map<Integer, Pair> pairs = new HashMap<>();
  private final Map<Admission, Admission> promotions = new HashMap<>();

  private record Pair(Admission primary, Admission backup, boolean complete) {}

  BackupServers(
      CoordinatorConfig config,
      MemberRegistry registry,
      CoordinatorEvents news,
      Consumer<Decision> decisions) {
    this.news = news;
    this.config = config;
    this.registry = registry;
    this.decisions = decisions;
  }

  /** Returns whether this is a backup server, which serves nobody until it is promoted. */
  boolean isBackup(Admission who) {
    return who.role() == Role.SERVER && who.rank() >= config.servers();
  }

  /** Starts replication to every ready backup whose server is ready; called often. */
  void look() {
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
    Pair now = pairs.get(shard);
    if (now == null || !now.primary().equals(primary) || !now.backup().equals(backup)) {
      pairs.put(shard, new Pair(primary, backup, false));
      decisions.accept(new Replicate(primary, backup));
    }
  }

  /** Returns whether the server's answer about this backup still counts. */
  boolean awaits(Admission primary, Admission backup) {
    Pair now = pairs.get(primary.rank());
    return now != null
        && !now.complete()
        && now.primary().equals(primary)
        && now.backup().equals(backup)
        && registry.find(primary).isPresent()
        && registry.find(backup).isPresent();
  }

  /** Records that this backup has everything that its server has, and stays complete. */
  void completed(Admission primary, Admission backup) {
    if (awaits(primary, backup)) {
      pairs.put(primary.rank(), new Pair(primary, backup, true));
      news.backupChanged(primary.rank(), true, backup + " lacks nothing of it");
    }
  }

  /** Records that a member left; the shard whose backup it was has no backup any more. */
  void left(Admission who, String why) {
    pairs.values().stream()
        .filter(pair -> pair.backup().equals(who))
        .findFirst()
        .ifPresent(
            pair -> {
              pairs.remove(pair.primary().rank());
              if (pair.complete()) {
                news.backupChanged(pair.primary().rank(), false, who + " left: " + why);
              }
            });
  }

  /** Returns the complete backup that can replace this server; empty when there is none. */
  Optional<MemberRecord> successor(Admission primary) {
    Pair now = pairs.get(primary.rank());
    return now != null && now.complete() && now.primary().equals(primary)
        ? registry.find(now.backup())
        : Optional.empty();
  }

  /** Records that this backup is being promoted to a server. */
  void promoted(Admission backup, Admission as) {
    pairs.remove(as.rank());
    promotions.put(backup, as);
    news.backupChanged(as.rank(), false, "%s has become %s".formatted(backup, as));
  }

  /** Returns whether a promoted server has not yet reported under its new rank. */
  boolean promotes(Admission as) {
    return registry.find(as).filter(record -> !record.ready()).isPresent();
  }

  /** Returns whether this backup may not know yet that it was promoted. */
  boolean turns(Admission backup) {
    Admission as = promotions.get(backup);
    boolean turns = as != null && promotes(as);
    if (as != null && !turns) {
      promotions.remove(backup);
    }
    return turns;
  }

  private int shardOf(Admission backup) {
    return backup.rank() % config.servers();
  }
}
