package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/** The progress of a job, from what its members have reported. */
final class JobProgress {

  private final Map<Integer, Long> steps = new HashMap<>();
  private final Map<Integer, Long> versions = new HashMap<>();
  private long version;
  private long samples;
  private boolean anyFinished;

  /** Takes a member's status; for a worker also the progress of its rank. */
  void heard(Admission from, MemberStatus status) {
    heard(status);
    if (from.role() == Role.WORKER) {
      status.step().ifPresent(step -> steps.merge(from.rank(), step, Math::max));
      status.version().ifPresent(reached -> versions.merge(from.rank(), reached, Math::max));
    }
  }

  /** Returns how many steps the workers of a rank have reported as completed. */
  long steps(int rank) {
    return steps.getOrDefault(rank, 0L);
  }

  /** Returns the highest version that the workers of each rank have reported. */
  SortedMap<Integer, Long> versions() {
    return new TreeMap<>(versions);
  }

  /** Takes {@code version} and {@code samples} of a status, if present. */
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

  /** Returns the highest version of any partition that was reported. */
  long version() {
    return version;
  }

  /** Returns the highest number of samples behind any partition that was reported. */
  long samples() {
    return samples;
  }

  /** Returns whether a worker has reached the last version. */
  boolean anyFinished() {
    return anyFinished;
  }

  /** Returns whether nothing is left to do for a newcomer. */
  boolean ended(long lastVersion) {
    return anyFinished || version >= lastVersion;
  }

  /**
   * Returns whether the end waits for a missing rank: without servers the final version is the mean
   * of all replicas. An early end takes the mean of those that are left.
   */
  boolean waitsForRanks(CoordinatorConfig config, MemberRegistry registry) {
    return config.servers() == 0
        && registry.of(Role.WORKER).stream().noneMatch(MemberRecord::ended)
        && registry.readyWorkers() < config.minimumWorkers();
  }

  /**
   * Returns whether a server that went back to a checkpoint needs updates again, whatever version
   * others have reported.
   */
  boolean hasServerBehind(long lastVersion, MemberRegistry registry) {
    return !anyFinished
        && registry.readyServers().stream()
            .anyMatch(server -> server.restored() && server.version().orElse(0) < lastVersion);
  }

  /**
   * Returns whether all steps are done; without servers the workers stay, because they hold the
   * model.
   */
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
