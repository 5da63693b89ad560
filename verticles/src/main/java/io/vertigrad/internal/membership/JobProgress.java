package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** How far the job is, from what members said about themselves. */
final class JobProgress {

  private final Map<Integer, Long> steps = new HashMap<>();
  private final Map<Integer, Long> versions = new HashMap<>();
  private long version;
  private long samples;
  private boolean anyFinished;

  /** What a member says of itself; of a worker also how far its rank is. */
  void heard(Admission from, MemberStatus status) {
    heard(status);
    if (from.role() == Role.WORKER) {
      status.step().ifPresent(step -> steps.merge(from.rank(), step, Math::max));
      status.version().ifPresent(reached -> versions.merge(from.rank(), reached, Math::max));
    }
  }

  /** Steps that the workers of a rank have completed, as far as they have told. */
  long steps(int rank) {
    return steps.getOrDefault(rank, 0L);
  }

  /** The highest version that each rank's workers have told of. */
  SortedMap<Integer, Long> versions() {
    return new TreeMap<>(versions);
  }

  /** Reads {@code version} and {@code samples}, where they are. */
  void heard(MemberStatus status) {
    reached(status.version().orElse(0));
    samples = Math.max(samples, status.samples().orElse(0));
  }

  void reached(long someVersion) {
    version = Math.max(version, someVersion);
  }

  void workerFinished() {
    anyFinished = true;
  }

  /** Highest version of any partition heard of. */
  long version() {
    return version;
  }

  /** Most samples behind any partition heard of. */
  long samples() {
    return samples;
  }

  /** True once a worker has seen the last version. */
  boolean anyFinished() {
    return anyFinished;
  }

  /** True when there is nothing left to do for a newcomer. */
  boolean ended(long lastVersion) {
    return anyFinished || version >= lastVersion;
  }

  /**
   * True while a rank is missing whose replica the end needs, because the last version is the mean
   * of all; an early end is that of those who are left.
   */
  boolean waitsForRanks(CoordinatorConfig config, MemberRegistry registry) {
    return config.servers() == 0
        && registry.of(Role.WORKER).stream().noneMatch(MemberRecord::ended)
        && registry.readyWorkers() < config.minimumWorkers();
  }

  /**
   * True while a server that went back to a checkpoint needs updates again, whatever version others
   * have told of.
   */
  boolean hasServerBehind(long lastVersion, MemberRegistry registry) {
    return !anyFinished
        && registry.readyServers().stream()
            .anyMatch(server -> server.restored() && server.version().orElse(0) < lastVersion);
  }

  /** True when all steps are made; without servers the workers hold the model, so they stay. */
  boolean complete(CoordinatorConfig config, MemberRegistry registry) {
    Collection<MemberRecord> workers = registry.of(Role.WORKER);
    return config.servers() > 0
        ? anyFinished && workers.isEmpty()
        : !workers.isEmpty()
            && !waitsForRanks(config, registry)
            && workers.stream()
                .allMatch(w -> w.ended() || w.version().orElse(0) >= config.lastVersion());
  }
}
