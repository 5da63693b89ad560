package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.Decision.Replicate;
import io.vertigrad.job.Role;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * Which server keeps which backup, and which backups lack nothing.
 *
 * <p>The servers of the ranks from the number of shards on are backups: that of rank {@code shards
 * + s} belongs to shard {@code s}. A server sends its backup every change and tells nobody of one
 * that the backup does not have; before it goes on without, it has the coordinator drop the backup.
 * So one that is complete here may go on for its server at any moment.
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

  /** True for a server that is to go on for another one, and serves nobody before. */
  boolean isBackup(Admission who) {
    return who.role() == Role.SERVER && who.rank() >= config.servers();
  }

  /** Has every server replicate to the backup that is there for it; called often. */
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

  /** True while this server's answer about this backup matters. */
  boolean awaits(Admission primary, Admission backup) {
    Pair now = pairs.get(primary.rank());
    return now != null
        && !now.complete()
        && now.primary().equals(primary)
        && now.backup().equals(backup)
        && registry.find(primary).isPresent()
        && registry.find(backup).isPresent();
  }

  /** This backup has all that its server has, and from now on always will. */
  void completed(Admission primary, Admission backup) {
    if (awaits(primary, backup)) {
      pairs.put(primary.rank(), new Pair(primary, backup, true));
      news.backupChanged(primary.rank(), true, backup + " lacks nothing of it");
    }
  }

  /** Somebody left: a shard whose backup that was has none any more. */
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

  /** The backup that may go on for this server; empty when there is none that lacks nothing. */
  Optional<MemberRecord> successor(Admission primary) {
    Pair now = pairs.get(primary.rank());
    return now != null && now.complete() && now.primary().equals(primary)
        ? registry.find(now.backup())
        : Optional.empty();
  }

  /** This backup is told to go on as a server. */
  void promoted(Admission backup, Admission as) {
    pairs.remove(as.rank());
    promotions.put(backup, as);
    news.backupChanged(as.rank(), false, "%s has become %s".formatted(backup, as));
  }

  /** True while a server that was promoted has not said so under its new rank. */
  boolean promotes(Admission as) {
    return registry.find(as).filter(record -> !record.ready()).isPresent();
  }

  /** True for a backup that may not have heard yet that it was promoted. */
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
