package io.vertigrad.verticles.coordinator;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;

/**
 * A member's line to the coordinator: joins, beats, listens and leaves.
 *
 * <p>Used from one context, on which it also calls its {@link MemberHandler}.
 */
public final class CoordinatorClient {

  public CoordinatorClient(Vertx vertx, JobConfig job, Role role, MemberHandler handler) {
    throw new UnsupportedOperationException("written by the coordinator room");
  }

  /**
   * Asks to take part, retrying while there is no coordinator yet, up to {@code
   * workers.waitSeconds}; then beats until {@link #leave(String)}.
   *
   * @return fails with a message for the user when refused, for example for another layout
   */
  public Future<Admission> join(ParameterLayout layout) {
    throw new UnsupportedOperationException("written by the coordinator room");
  }

  /** Completes with the first membership this member is part of, when the job runs. */
  public Future<Membership> started() {
    throw new UnsupportedOperationException("written by the coordinator room");
  }

  /** The newest membership heard of. */
  public Membership membership() {
    throw new UnsupportedOperationException("written by the coordinator room");
  }

  /** Sent along with the next heartbeat: step, version, last event, for whoever looks for culprits. */
  public void report(JsonObject status) {
    throw new UnsupportedOperationException("written by the coordinator room");
  }

  /** Leaves in good order; {@code finished} means the job's last version was seen. */
  public Future<Void> leave(String reason) {
    throw new UnsupportedOperationException("written by the coordinator room");
  }
}
