package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.json.JsonObject;
import java.util.UUID;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A member's line to the coordinator: joins, beats, listens and leaves.
 *
 * <p>Made on the context it belongs to, on which it also calls its {@link MemberHandler} and
 * completes its futures; {@link #report} may be called from any thread.
 */
public final class CoordinatorClient {

  private static final String STARTING = "starting";
  private static final String ENDED = "ended";

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final Role role;
  private final MemberHandler handler;
  private final ProcessHealth health;
  private final CoordinatorRequests line;
  private final PauseListener pauses;
  private MessageConsumer<JsonObject> control;
  private MemberRequestHandler own;
  private Admission admission;
  private volatile Promise<Membership> started = Promise.promise();
  private HeartbeatSender heartbeats;
  private String over = "";
  private int attempt;
  private volatile boolean adopts;
  private volatile Membership membership = Membership.NONE;
  private volatile JsonObject status = new JsonObject();

  public CoordinatorClient(Vertx vertx, JobConfig job, Role role, MemberHandler handler) {
    this.vertx = vertx;
    this.job = job;
    this.role = role;
    this.handler = handler;
    health = new ProcessHealth(job.engine());
    line = new CoordinatorRequests(vertx, job.addresses());
    pauses = new PauseListener(handler);
    context = vertx.getOrCreateContext();
  }

  /**
   * Asks to take part, retrying while there is no coordinator yet, up to {@code
   * workers.waitSeconds}; then beats until {@link #leave(String)}. May be called again after an
   * eviction.
   *
   * @return fails with a {@link JoinException} for the user when refused, for example for another
   *     layout, or when no coordinator was found
   */
  public Future<Admission> join(ParameterLayout layout) {
    return onContext(
        () -> {
          int mine = ++attempt;
          pauses.reset();
          if (started.future().isComplete()) {
            started = Promise.promise();
          }
          return listen()
              .compose(listening -> joinAttempt(layout, mine))
              .compose(answer -> admitted(answer, mine));
        });
  }

  /**
   * From the next join on it asks for a rank that nobody plays, and gives way to who comes for it.
   */
  public void adopts() {
    adopts = true;
  }

  /** By which this member limits how long it waits for others. */
  public LongSupplier clock() {
    return pauses.clock();
  }

  /**
   * Completes with the first membership this member is part of, when the job runs; the handler was
   * told of it before.
   */
  public Future<Membership> started() {
    return started.future();
  }

  /** The newest membership heard of. */
  public Membership membership() {
    return membership;
  }

  /**
   * Sent along with the next heartbeat, for whoever looks for culprits: {@code version} and {@code
   * samples} reached, {@code step}, {@code event} (what it does now). {@code "starting": true} from
   * before the join keeps the job from counting on this member until a report without it, and
   * {@code "ended": true} says that it has done all before an early end.
   */
  public void report(JsonObject newStatus) {
    boolean ready = status.containsKey(STARTING) && !newStatus.containsKey(STARTING);
    boolean ended = newStatus.containsKey(ENDED) && !status.containsKey(ENDED);
    status = newStatus.copy();
    if (ready || ended) {
      context.runOnContext(
          go -> {
            if (heartbeats != null) {
              heartbeats.beat();
            }
          });
    }
  }

  /** The same, with a heartbeat that does not wait for its turn. */
  public void reportNow(JsonObject newStatus) {
    status = newStatus.copy();
    context.runOnContext(
        go -> {
          if (heartbeats != null) {
            heartbeats.beat();
          }
        });
  }

  /** Leaves in good order; {@code finished} means the job's last version was seen. */
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
    control = vertx.eventBus().consumer(job.addresses().control(), m -> hear(m.body()));
    return control.completion();
  }

  private Future<JsonObject> joinAttempt(ParameterLayout layout, int mine) {
    JoinRequest request =
        new JoinRequest(
            role,
            UUID.randomUUID().toString(),
            NodeName.of(job, ProcessHandle.current().pid()),
            JobTerms.of(job),
            layout,
            adopts,
            status);
    return new JoinAttempt(vertx, job, request, () -> mine == attempt ? null : over).answer();
  }

  private Future<Admission> admitted(JsonObject answer, int mine) {
    Admission admitted = Admission.fromJson(answer.getJsonObject("admitted"));
    if (mine != attempt) {
      line.leave(admitted, LeaveReason.lost("left while it joined"), status);
      return Future.failedFuture(new JoinException("left while it joined: " + over));
    }
    own = new MemberRequestHandler(vertx, line.own(admitted), handler);
    return own.open()
        .map(
            listening -> {
              admission = admitted;
              heartbeats = new HeartbeatSender(vertx, job.exchange(), this::beat, this::lost);
              return admitted;
            });
  }

  private Future<Void> beat(long limitMillis) {
    Admission beating = admission;
    JsonObject request = beating.toJson().put("request", "heartbeat").put("status", status);
    request.put("epoch", membership.epoch()).put("vitals", health.measure());
    pauses.speak(request);
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

  private void hear(JsonObject message) {
    if (message.containsKey("stop")) {
      stopped(message.getString("stop"));
    } else if (admission != null && message.containsKey("unknown")) {
      String why = message.getString("unknown");
      drop();
      handler.evicted(why);
    } else {
      if (message.containsKey("membership")) {
        hear(Membership.fromJson(message.getJsonObject("membership")));
      }
      if (heartbeats != null && pauses.hear(message)) {
        heartbeats.beat();
      }
    }
  }

  private void hear(Membership now) {
    if (admission == null || now.epoch() <= membership.epoch()) {
      return;
    }
    membership = now;
    handler.membershipChanged(now);
    if (admission != null && admission.isPartOf(now)) {
      started.tryComplete(now);
    }
  }

  private void lost(long silentMillis) {
    stopped(
        "the coordinator has not answered on %s for %d ms: it crashed, or the network is down"
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

  /** Stops listening and beating, for good or until the next join. */
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

  /** Lets go of rank and address; control messages are still heard. */
  private void drop() {
    if (heartbeats != null) {
      heartbeats.stop();
      heartbeats = null;
    }
    if (own != null) {
      own.close();
      own = null;
    }
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
