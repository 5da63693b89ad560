package io.vertigrad.internal.membership;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.VerticleBase;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** A member without a model: joins through a real client and records what it receives. */
final class FakeMember extends VerticleBase implements MemberHandler {

  static final ParameterLayout LAYOUT =
      new ParameterLayout(List.of(new Block("dense.W", List.of(3, 2), Block.Kind.TRAINABLE)));

  final List<Membership> memberships = new CopyOnWriteArrayList<>();
  final List<Membership> proposals = new CopyOnWriteArrayList<>();
  final Promise<String> evicted = Promise.promise();
  final Promise<String> stopped = Promise.promise();
  volatile Function<Membership, OptionalLong> answer = proposal -> OptionalLong.empty();
  volatile Future<MemberStatus> counters = Future.failedFuture("no such command");
  volatile Future<EvaluationResult> evaluation = Future.failedFuture("no such command");
  volatile CoordinatorClient client;

  private final JsonObject job;
  private final Role role;

  FakeMember(JsonObject job, Role role) {
    this.job = job;
    this.role = role;
  }

  @Override
  public Future<?> start() {
    client =
        new CoordinatorClient(vertx, JobConfig.read("test", job), role, this, Optional.empty());
    return Future.succeededFuture();
  }

  Future<Admission> join() {
    return client.join(LAYOUT);
  }

  /** Completes when this member's event loop has begun all that it was asked for so far. */
  Future<Void> begun() {
    Promise<Void> reached = Promise.promise();
    context.runOnContext(now -> reached.complete());
    return reached.future();
  }

  /** Keeps this member's event loop busy until the latch opens: no heartbeat, no answer. */
  void freezeUntil(CountDownLatch latch) {
    context.runOnContext(
        frozen -> {
          try {
            latch.await(10, TimeUnit.SECONDS);
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
        });
  }

  @Override
  public void membershipChanged(Membership now) {
    memberships.add(now);
  }

  @Override
  public Future<ProposalAnswer> onProposal(Membership next) {
    proposals.add(next);
    return Future.succeededFuture(new ProposalAnswer(answer.apply(next), List.of()));
  }

  @Override
  public Future<MemberStatus> counters() {
    return counters;
  }

  @Override
  public Future<EvaluationResult> evaluate() {
    return evaluation;
  }

  @Override
  public void onEvicted(String why) {
    evicted.tryComplete(why);
  }

  @Override
  public void onStopped(String why) {
    stopped.tryComplete(why);
  }
}
