package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.ConditionTimer;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Collectors;

/** Limits how long a job waits for its members, and names the missing ones when it gives up. */
final class JobTimeouts {

  private static final long RELEASE_MILLIS = 60_000;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final MembershipProposal proposal;
  private final ConditionTimer start;
  private final ConditionTimer evaluator;
  private final ConditionTimer survivors;
  private final ConditionTimer shards;
  private final ConditionTimer workers;
  private final ConditionTimer silence;
  private final ConditionTimer ending;
  private final ConditionTimer release = new ConditionTimer(RELEASE_MILLIS);
  private int proposedEpoch;
  private long unendedWork;

  JobTimeouts(CoordinatorConfig config, MemberRegistry registry, MembershipProposal proposal) {
    this.config = config;
    this.registry = registry;
    this.proposal = proposal;
    start = new ConditionTimer(config.waitMillis());
    evaluator = new ConditionTimer(config.evaluatorWaitMillis());
    survivors = new ConditionTimer(config.evictMillis());
    shards = new ConditionTimer(config.waitMillis());
    workers = new ConditionTimer(config.waitMillis());
    silence = new ConditionTimer(config.evictMillis());
    ending = new ConditionTimer(config.waitMillis());
  }

  /**
   * Returns whether the job can start: all servers and workers are ready, and the evaluator is
   * present or a short wait for it is over.
   */
  boolean quorate(long now) {
    boolean complete =
        registry.readyServers().size() == config.servers()
            && registry.readyWorkers() >= config.workers();
    boolean waited = evaluator.exceeded(complete, now);
    boolean newest = hasNewest() || survivors.exceeded(complete && !hasNewest(), now);
    return complete && newest && (waited || registry.count(Role.EVALUATOR) >= config.evaluators());
  }

  /**
   * Returns false while a server with a newer version in memory may still come. That is possible in
   * a resumed run until all servers and backups are present, or until each shard's server is one
   * that served this shard before and still has it in memory.
   */
  private boolean hasNewest() {
    return config.resumes() == 0
        || registry.count(Role.SERVER) >= config.capacity(Role.SERVER)
        || registry.servers().stream()
            .allMatch(
                server ->
                    server.holds().isPresent()
                        && server.before().filter(was -> was.rank() == server.rank()).isPresent());
  }

  /** Returns the servers that left a proposal unanswered for the eviction limit. */
  List<MemberRecord> unresponsive(long now) {
    if (proposal.epoch() != proposedEpoch) {
      proposedEpoch = proposal.epoch();
      silence.restart();
    }
    if (!silence.exceeded(proposal.pending(), now)) {
      return List.of();
    }
    silence.restart();
    return registry.of(Role.SERVER).stream()
        .filter(server -> proposal.unanswered().contains(server.rank()))
        .toList();
  }

  /** Returns why the job cannot go on, when a limit has passed. */
  Optional<String> exhausted(JobPhase state, boolean anyFinished, long now) {
    if (start.exceeded(state == JobPhase.WAITING, now)) {
      return Optional.of(notStarted());
    }
    boolean running = state == JobPhase.RUNNING;
    boolean shardLost = running && registry.readyServers().size() < config.servers();
    if (shards.exceeded(shardLost, now)) {
      return Optional.of(shardMissing());
    }
    boolean tooFew = running && !anyFinished && registry.readyWorkers() < config.minimumWorkers();
    if (workers.exceeded(tooFew, now)) {
      return Optional.of(workersMissing());
    }
    if (ending.exceeded(state == JobPhase.ENDING && !moves(), now)) {
      return Optional.of(unended());
    }
    return Optional.empty();
  }

  /** Returns whether a worker has made progress since the last call. */
  private boolean moves() {
    long now =
        registry.of(Role.WORKER).stream()
            .mapToLong(worker -> 1 + worker.version().orElse(0) + worker.tested())
            .sum();
    boolean moves = now != unendedWork;
    unendedWork = now;
    return moves;
  }

  private String unended() {
    String who =
        registry.of(Role.WORKER).stream()
            .filter(worker -> !worker.ended())
            .map(MemberRecord::describe)
            .collect(Collectors.joining(", "));
    return "the job was to end early, but for %s nothing came of the steps that had begun; missing: %s"
        .formatted(ending.seconds(), who.isEmpty() ? "every worker" : who);
  }

  /** Returns whether a finished job has waited long enough for somebody to stop it. */
  boolean letGo(JobPhase state, long now) {
    return release.exceeded(state == JobPhase.FINISHED, now);
  }

  /** Returns why waiting cannot help: a lost shard was not restored, or every worker failed. */
  Optional<String> hopeless(long version) {
    return unrestored(version).or(this::allFailed);
  }

  /** Names a replacement server that restored nothing of a shard that had been trained. */
  private Optional<String> unrestored(long version) {
    return registry.readyServers().stream()
        .filter(server -> !server.published() && server.admission().incarnation() > 0)
        .filter(server -> version > 0 && !server.restored())
        .filter(server -> server.version().equals(OptionalLong.of(0)))
        .findFirst()
        .map(
            server ->
                ("shard %d was lost at version %d (%s) and its replacement at %s found no usable"
                        + " checkpoint; set checkpoint.every and a checkpoint.directory that"
                        + " the replacement can read")
                    .formatted(server.rank(), version, registry.departures(), server.node()));
  }

  private Optional<String> allFailed() {
    return registry.count(Role.WORKER) > 0
        ? Optional.empty()
        : registry
            .departures()
            .allWorkersFailed()
            .map("no worker is left, all have failed; the first was "::concat);
  }

  private String notStarted() {
    List<String> missing = new ArrayList<>();
    missing.add(registry.missing(Role.SERVER, config.servers()));
    missing.add(registry.missing(Role.WORKER, config.workers()));
    registry
        .all()
        .filter(a -> !a.ready())
        .forEach(a -> missing.add(config.names().of(a.admission()) + " (starting)"));
    missing.removeIf(String::isEmpty);
    String present = registry.all().map(MemberRecord::describe).collect(Collectors.joining("; "));
    return ("the job did not start within %s: missing %s; present: %s; start the missing ones, or"
            + " raise workers.waitSeconds")
        .formatted(
            start.seconds(), String.join(", ", missing), present.isEmpty() ? "nobody" : present);
  }

  private String shardMissing() {
    return "%s missing for %s and no replacement came (%s)"
        .formatted(
            registry.missing(Role.SERVER, config.servers()).isEmpty()
                ? "a server that is still starting is"
                : registry.missing(Role.SERVER, config.servers()) + " is",
            shards.seconds(),
            registry.departures());
  }

  private String workersMissing() {
    return "%d of at least %d workers for %s (%s): %s"
        .formatted(
            registry.readyWorkers(),
            config.minimumWorkers(),
            workers.seconds(),
            config.whyMinimum(),
            registry.departures());
  }
}
