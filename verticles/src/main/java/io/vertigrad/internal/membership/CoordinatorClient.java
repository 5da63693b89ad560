package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.internal.membership.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlAnswer.Refused;
import io.vertigrad.internal.membership.ControlAnswer.Released;
import io.vertigrad.internal.membership.ControlAnswer.Unknown;
import io.vertigrad.internal.membership.ControlMessage.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.StopPublished;
import io.vertigrad.internal.membership.ControlRequest.DropBackup;
import io.vertigrad.internal.membership.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.PauseClock.Reason;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's connection to the coordinator: joins, sends heartbeats, listens and leaves.
 *
 * <p>Create it on the context it belongs to. It calls its {@link MemberHandler} and completes its
 * futures on that context; {@link #report} may be called from any thread.
 */
public final class CoordinatorClient {

  private static final Logger LOG = LoggerFactory.getLogger(CoordinatorClient.class);

  private static final long DROP_MILLIS = 1_000;
  private static final long AGAIN_MILLIS = 50;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final Role role;
  private final MemberHandler handler;
  private final ProcessHealth health;
  private final CoordinatorRequests line;
  private final PauseListener pauses;
  private final int servers;
  private MessageConsumer<JsonObject> control;
  private MemberRequestHandler own;
  private Admission admission;
  private Admission before;
  private volatile Promise<Membership> started = Promise.promise();
  private Optional<Expected> expected = Optional.empty();
  private HeartbeatSender heartbeats;
  private String over = "";
  private int attempt;
  private volatile boolean adopts;
  private volatile String run = "";
  private volatile boolean keeps;
  private volatile OptionalLong from = OptionalLong.empty();
  private volatile Membership membership = Membership.NONE;
  private volatile MemberStatus status = MemberStatus.NONE;

  public CoordinatorClient(Vertx vertx, JobConfig job, Role role, MemberHandler handler) {
    this.vertx = vertx;
    this.job = job;
    this.role = role;
    this.handler = handler;
    health = new ProcessHealth(job.engine());
    line = new CoordinatorRequests(vertx, job.addresses());
    pauses = new PauseListener(handler);
    servers =
        StrategyProviders.configure(job, CoordinatorClient.class.getClassLoader())
            .servers(job.servers().count());
    context = vertx.getOrCreateContext();
  }

  /**
   * Joins the job and sends heartbeats until {@link #leave(LeaveReason)}. Retries for up to {@code
   * workers.waitSeconds} while no coordinator answers. May be called again after an eviction.
   *
   * @return fails with a {@link JoinException} for the user when the join is refused, for example
   *     because of another layout, or when no coordinator was found
   */
  public Future<Admission> join(ParameterLayout layout) {
    return join(layout, OptionalLong.empty());
  }

  /**
   * Joins again after an eviction, as {@link #join(ParameterLayout)} does.
   *
   * @param holds version that a server still has in memory, or the last version that a worker has
   *     received from its servers; empty for none
   */
  public Future<Admission> join(ParameterLayout layout, OptionalLong holds) {
    return onContext(
        () -> {
          int mine = ++attempt;
          pauses.reset();
          if (started.future().isComplete()) {
            started = Promise.promise();
          }
          return listen()
              .compose(listening -> joinAttempt(layout, holds, mine))
              .compose(answer -> admitted(answer, mine));
        });
  }

  /**
   * Makes later joins ask for a rank without a worker, to be given up when another comes for it.
   */
  public void adopts() {
    adopts = true;
  }

  /** Returns the name of the run that this member was admitted to; empty before. */
  public String run() {
    return run;
  }

  /** Returns whether a server continues from what it had in memory when it last joined. */
  public boolean keepsMemory() {
    return keeps;
  }

  /** Returns the version that a server goes back to after its last join; empty for its newest. */
  public OptionalLong goesBackTo() {
    return from;
  }

  /** Returns the clock by which this member limits how long it waits for others. */
  public LongSupplier clock() {
    return pauses.clock();
  }

  /**
   * Completes with the first membership that includes this member, once the job runs; the handler
   * receives that membership first.
   */
  public Future<Membership> started() {
    return started.future();
  }

  /** Returns the newest membership that this member has received. */
  public Membership membership() {
    return membership;
  }

  /**
   * Sets the status for the next heartbeat. With {@link MemberStatus#STARTING} set before the join,
   * the job does not count on this member until it reports a status that is not starting.
   */
  public void report(MemberStatus newStatus) {
    boolean ready = status.starting() && !newStatus.starting();
    boolean ended = newStatus.ended() && !status.ended();
    status = newStatus;
    if (ready || ended) {
      context.runOnContext(
          go -> {
            if (heartbeats != null) {
              heartbeats.beat();
            }
          });
    }
  }

  /** Sets the status and sends a heartbeat at once. */
  public void reportNow(MemberStatus newStatus) {
    status = newStatus;
    context.runOnContext(
        go -> {
          if (heartbeats != null) {
            heartbeats.beat();
          }
        });
  }

  /**
   * Reports that a backup of this server does not accept changes; repeats the request until it is
   * answered.
   *
   * @return true when the coordinator has dropped the backup; false when this server is no member
   *     itself
   */
  public Future<Boolean> dropBackup(Admission backup, String why) {
    return onContext(
        () -> {
          Promise<Boolean> answer = Promise.promise();
          dropBackup(admission, backup, why, answer);
          return answer.future();
        });
  }

  private void dropBackup(Admission from, Admission backup, String why, Promise<Boolean> answer) {
    if (from == null || !from.equals(admission)) {
      answer.complete(false);
      return;
    }
    line.request(new DropBackup(from, backup, why), DROP_MILLIS)
        .onSuccess(granted -> answer.complete(granted instanceof Granted))
        .onFailure(
            silence -> vertx.setTimer(AGAIN_MILLIS, id -> dropBackup(from, backup, why, answer)));
  }

  /** An admission that may follow without a join; this member already listens on its address. */
  private record Expected(Admission as, MemberRequestHandler listening) {}

  /**
   * Listens on the address of the admission that a {@link #promote} may bring; replaces another.
   */
  public void expect(Admission next) {
    onContext(
        () -> {
          if (expected.filter(known -> known.as().equals(next)).isEmpty()) {
            expectNothing();
            MemberRequestHandler listening =
                new MemberRequestHandler(vertx, line.own(next), role, handler);
            expected = Optional.of(new Expected(next, listening));
          }
          return Future.succeededFuture();
        });
  }

  private void expectNothing() {
    expected.ifPresent(never -> never.listening().close());
    expected = Optional.empty();
  }

  /**
   * Continues under another admission, which the coordinator has given without a join.
   *
   * @return completes when the coordinator can reach this member under it
   */
  public Future<Admission> promote(Admission as) {
    return onContext(
        () -> {
          Optional<MemberRequestHandler> listening =
              expected.filter(next -> next.as().equals(as)).map(Expected::listening);
          expected = expected.filter(next -> !next.as().equals(as));
          drop();
          return admitted(as, ++attempt, listening);
        });
  }

  /** Leaves in good order; {@code finished} means that the job's last version was reached. */
  public Future<Void> leave(LeaveReason reason) {
    return onContext(
        () -> {
          Admission leaving = admission;
          close("left: " + reason);
          return leaving == null ? Future.succeededFuture() : line.leave(leaving, reason, status);
        });
  }

  private Future<Void> listen() {
    if (control != null) {
      return Future.succeededFuture();
    }
    control = vertx.eventBus().consumer(job.addresses().control(), m -> heard(m.body()));
    return control.completion();
  }

  private Future<Admitted> joinAttempt(ParameterLayout layout, OptionalLong holds, int mine) {
    JoinRequest request =
        new JoinRequest(
            role,
            UUID.randomUUID().toString(),
            NodeName.of(job, ProcessHandle.current().pid()),
            NodeName.inCluster(vertx),
            JobTerms.of(job),
            layout,
            adopts,
            Optional.ofNullable(before),
            holds,
            status);
    return new JoinAttempt(vertx, line, job, request, () -> mine == attempt ? null : over).answer();
  }

  private Future<Admission> admitted(Admitted answer, int mine) {
    run = answer.run();
    keeps = answer.keeps();
    from = answer.from();
    return admitted(answer.admission(), mine);
  }

  private Future<Admission> admitted(Admission admitted, int mine) {
    return admitted(admitted, mine, Optional.empty());
  }

  private Future<Admission> admitted(
      Admission admitted, int mine, Optional<MemberRequestHandler> ready) {
    if (mine != attempt) {
      line.leave(admitted, LeaveReason.lost("left while it joined"), status);
      return Future.failedFuture(new JoinException("left while it joined: " + over));
    }
    own = ready.orElseGet(() -> new MemberRequestHandler(vertx, line.own(admitted), role, handler));
    return own.open()
        .map(
            listening -> {
              admission = admitted;
              heartbeats =
                  new HeartbeatSender(
                      vertx,
                      admitted.toString(),
                      job.exchange(),
                      this::beat,
                      silent -> pauses.clock().hold(Reason.COORDINATOR_SILENT, silent),
                      this::lost);
              return admitted;
            });
  }

  private Future<Void> beat(long limitMillis) {
    Admission beating = admission;
    Heartbeat request =
        new Heartbeat(
            beating, membership.epoch(), status, Optional.of(health.measure()), pauses.reply());
    long sentNanos = System.nanoTime();
    return line.request(request, limitMillis)
        .onSuccess(
            answer -> {
              health.answered(System.nanoTime() - sentNanos);
              if (beating.equals(admission)) {
                hear(answer);
              }
            })
        .mapEmpty();
  }

  private void hear(ControlAnswer answer) {
    if (answer instanceof Released released) {
      stopped(released.why());
    } else if (answer instanceof Unknown unknown) {
      before = admission;
      drop();
      handler.evicted(unknown.why());
    } else if (answer instanceof Granted granted) {
      granted.membership().ifPresent(this::hear);
      granted.pause().ifPresent(this::hear);
    } else if (answer instanceof Refused refused) {
      LOG.warn("the coordinator refused a heartbeat of {}: {}", admission, refused.why());
    }
  }

  private void heard(JsonObject published) {
    try {
      hear(ControlCodec.message(published));
    } catch (IllegalArgumentException malformed) {
      LOG.warn("ignored on {}: {}", job.addresses().control(), malformed.getMessage());
    }
  }

  private void hear(ControlMessage message) {
    if (message instanceof StopPublished stop) {
      stopped(stop.why());
    } else if (message instanceof MembershipPublished published) {
      hear(published.membership());
    } else if (message instanceof PausePublished published) {
      hear(published.pause());
    }
  }

  private void hear(Pause word) {
    if (heartbeats != null && pauses.hear(word)) {
      heartbeats.beat();
    }
  }

  private void hear(Membership now) {
    if (admission == null || now.epoch() <= membership.epoch()) {
      return;
    }
    membership = now;
    pauses.clock().hold(Reason.SERVER_MISSING, now.servers().size() < servers);
    handler.membershipChanged(now);
    if (admission != null && admission.isPartOf(now)) {
      started.tryComplete(now);
    }
  }

  private void lost(long silentMillis) {
    stopped(
        ("the coordinator has not answered on %s for %d ms (exchange.orphanSeconds): it crashed, or"
                + " the network is down")
            .formatted(job.addresses().coordinator(), silentMillis));
  }

  private void stopped(String why) {
    Admission leaving = admission;
    close(why);
    if (leaving != null) {
      handler.stopped(why);
      line.leave(leaving, LeaveReason.STOPPED, status);
    }
  }

  /** Stops listening and stops heartbeats, for good or until the next join. */
  private void close(String why) {
    over = why;
    attempt++;
    drop();
    started.tryFail(new JoinException("not started: " + why));
    if (control != null) {
      control.unregister();
      control = null;
    }
  }

  /** Gives up rank and address; control messages are still received. */
  private void drop() {
    if (heartbeats != null) {
      heartbeats.stop();
      heartbeats = null;
      pauses.clock().hold(Reason.COORDINATOR_SILENT, false);
    }
    if (own != null) {
      own.close();
      own = null;
    }
    expectNothing();
    admission = null;
  }

  private <T> Future<T> onContext(Supplier<Future<T>> action) {
    if (Context.isOnVertxThread() && Vertx.currentContext() == context) {
      return action.get();
    }
    Promise<T> promise = Promise.promise();
    context.runOnContext(go -> action.get().onComplete(promise));
    return promise.future();
  }
}
