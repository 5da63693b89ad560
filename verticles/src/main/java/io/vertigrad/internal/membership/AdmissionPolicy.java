package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import java.util.stream.Collectors;

/**
 * Decides whether a newcomer may join: the job is open, settings and model match, a place is free.
 */
final class AdmissionPolicy {

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final JobLifecycle lifecycle;
  private ParameterLayout layout;

  AdmissionPolicy(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      JobLifecycle lifecycle) {
    this.config = config;
    this.registry = registry;
    this.progress = progress;
    this.lifecycle = lifecycle;
  }

  /**
   * Accepts the newcomer; the layout of the first one is the job's layout.
   *
   * @throws JoinException naming the first thing that does not fit
   */
  void check(JoinRequest request) {
    checkOpen(request.role());
    String who = "%s at %s is refused: ".formatted(request.role().lower(), request.node());
    config
        .terms()
        .firstDifference(request.terms())
        .ifPresent(
            difference -> {
              throw new JoinException(
                  who + "its job file differs in " + difference + "; start it with the same file");
            });
    if (layout == null) {
      layout = request.layout();
    }
    layout
        .firstDifference(request.layout())
        .ifPresent(
            difference -> {
              throw new JoinException(
                  who + "its model differs in " + difference + "; start it with the same model");
            });
    checkCapacity(request, who);
  }

  /** Returns the number of elements in the job's exchange vector; 0 before the first join. */
  long parameters() {
    return layout == null ? 0 : layout.length();
  }

  private void checkOpen(Role role) {
    if (role == Role.SERVER && lifecycle.state() == JobPhase.FINISHED) {
      // The server's disk holds the final model, which may not have been read yet.
      return;
    }
    if (lifecycle.state().over()) {
      String over = "the job is over: " + lifecycle.reason();
      throw lifecycle.finishedWell() ? JoinException.late(over) : new JoinException(over);
    }
    if (role == Role.WORKER && lifecycle.ending()) {
      throw JoinException.late("the job is about to end early");
    }
    boolean needed =
        progress.waitsForRanks(config, registry)
            || progress.hasServerBehind(config.lastVersion(), registry);
    boolean begun = lifecycle.state() != JobPhase.WAITING;
    if (role == Role.WORKER && begun && progress.ended(config.lastVersion()) && !needed) {
      throw JoinException.late("the job has reached its last version, " + config.lastVersion());
    }
  }

  private void checkCapacity(JoinRequest request, String who) {
    if (request.adopts() && registry.playsAll(config.workers())) {
      // The worker that was taken for lost is back, or another one has joined.
      throw JoinException.refused(
          who + "all %d ranks of the job have a worker again".formatted(config.workers()));
    }
    int capacity = config.capacity(request.role());
    if (registry.count(request.role()) < capacity) {
      return;
    }
    String holders =
        registry.of(request.role()).stream()
            .limit(4)
            .map(MemberRecord::describe)
            .collect(Collectors.joining(", "));
    String full =
        "the job has all %d of its %ss (%s); it takes a place only when one is lost"
            .formatted(capacity, request.role().lower(), holders);
    throw JoinException.full(who + full + moreWorkers(request.role()));
  }

  /** Explains why no further worker fits: with a sampler, each worker has a share of the data. */
  private static String moreWorkers(Role role) {
    return role == Role.WORKER
        ? ", because workers.sampler \"distributed\" cuts the data into workers.count shares; to"
            + " let any number join, start the job with workers.sampler=none"
        : "";
  }
}
