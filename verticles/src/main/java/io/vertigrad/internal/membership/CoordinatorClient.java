package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
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
import io.vertigrad.internal.membership.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.MemberRequest.Command;
import io.vertigrad.internal.membership.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.MemberRequest.Promote;
import io.vertigrad.internal.membership.MemberRequest.Propose;
import io.vertigrad.internal.membership.MemberRequest.Replicate;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageConsumer;
import io.vertx.core.eventbus.ReplyException;
import io.vertx.core.json.JsonObject;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;
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
                      silent -> pauses.clock().hold(PauseClock.Reason.COORDINATOR_SILENT, silent),
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
    pauses.clock().hold(PauseClock.Reason.SERVER_MISSING, now.servers().size() < servers);
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
      pauses.clock().hold(PauseClock.Reason.COORDINATOR_SILENT, false);
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

  /**
   * Sends a member's heartbeats: one at once, then one per interval, with or without answers.
   *
   * <p>A silent coordinator is no reason to stop: the member goes on, logs the silence, and gives up
   * only after {@code exchange.orphanSeconds}. Time in which this process itself was paused does not
   * count.
   */
  private static final class HeartbeatSender {

    private static final long SLOWEST_MILLIS = 1_000;
    private static final double MILLIS_PER_SECOND = 1_000;

    private final Vertx vertx;
    private final String name;
    private final ExchangeConfig limits;
    private final LongFunction<Future<Void>> beat;
    private final Consumer<Boolean> silent;
    private final LongConsumer lost;
    private final CoordinatorSilence silence;
    private final long timer;

    /**
     * Starts to send heartbeats.
     *
     * @param name of the member, for messages
     * @param beat sends one heartbeat, with a limit in milliseconds for its answer
     * @param silent receives true when the coordinator falls silent and false when it answers again
     * @param lost called once with the silence in milliseconds, when it has lasted too long
     */
    HeartbeatSender(
        Vertx vertx,
        String name,
        ExchangeConfig limits,
        LongFunction<Future<Void>> beat,
        Consumer<Boolean> silent,
        LongConsumer lost) {
      this.vertx = vertx;
      this.name = name;
      this.limits = limits;
      this.beat = beat;
      this.silent = silent;
      this.lost = lost;
      silence =
          new CoordinatorSilence(
              limits.suspectMillis(),
              limits.suspectMillis(),
              TimeUnit.SECONDS.toMillis(limits.orphanSeconds()),
              now());
      long interval = Math.min(SLOWEST_MILLIS, Math.max(1, limits.suspectMillis() / 3));
      timer = vertx.setPeriodic(1, interval, id -> lookAndBeat());
    }

    void stop() {
      vertx.cancelTimer(timer);
    }

    /** Sends one heartbeat now, in addition to the regular ones. */
    void beat() {
      beat.apply(limits.evictMillis()).onSuccess(answer -> answered());
    }

    private void lookAndBeat() {
      CoordinatorSilence.Finding found = silence.look(now());
      if (found == CoordinatorSilence.Finding.GIVE_UP) {
        stop();
        lost.accept(silence.silentMillis(now()));
        return;
      }
      if (found == CoordinatorSilence.Finding.TELL) {
        silent.accept(true);
        LOG.warn(
            "the coordinator has not answered {} for {} s; it goes on, and stops after {} s"
                + " (exchange.orphanSeconds)",
            name,
            seconds(),
            limits.orphanSeconds());
      }
      beat();
    }

    private void answered() {
      String seconds = seconds();
      if (silence.answered(now())) {
        silent.accept(false);
        LOG.info("the coordinator answers {} again after {} s", name, seconds);
      }
    }

    private String seconds() {
      return String.format(Locale.ROOT, "%.1f", silence.silentMillis(now()) / MILLIS_PER_SECOND);
    }

    private static long now() {
      return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }
  }

  /**
   * Measures how long a member has not heard from its coordinator and decides what to do; does no I/O
   * and runs on one thread.
   *
   * <p>Silence is reported once it reaches a limit and then once a minute. It ends the member only
   * after a much longer limit. When two calls of {@link #look} are too far apart, this process itself
   * did not run, and that time does not count.
   */
  static final class CoordinatorSilence {

    private static final long REPEAT_MILLIS = 60_000;

    private final long freezeMillis;
    private final long tellMillis;
    private final long limitMillis;
    private long answeredMillis;
    private long lookedMillis;
    private long toldMillis;
    private boolean told;

    /** The result of a look at the clock. */
    enum Finding {
      /** The coordinator answers, or its silence was reported less than a minute ago. */
      NOTHING,
      /** The coordinator is silent; report it. */
      TELL,
      /** The coordinator has been silent for the limit. */
      GIVE_UP
    }

    /**
     * Starts as if the coordinator had just answered.
     *
     * @param freezeMillis looks further apart than this mean that this process did not run
     * @param tellMillis silence after which it is reported
     * @param limitMillis silence after which the member gives up
     * @param nowMillis monotonic
     */
    CoordinatorSilence(long freezeMillis, long tellMillis, long limitMillis, long nowMillis) {
      this.freezeMillis = freezeMillis;
      this.tellMillis = tellMillis;
      this.limitMillis = limitMillis;
      answeredMillis = nowMillis;
      lookedMillis = nowMillis;
    }

    /** Looks at the clock; call it far more often than every {@code freezeMillis}. */
    Finding look(long nowMillis) {
      long gap = nowMillis - lookedMillis;
      lookedMillis = nowMillis;
      if (gap > freezeMillis) {
        answeredMillis += gap;
        toldMillis += gap;
      }
      long silent = silentMillis(nowMillis);
      if (silent >= limitMillis) {
        return CoordinatorSilence.Finding.GIVE_UP;
      }
      boolean due = told ? nowMillis - toldMillis >= REPEAT_MILLIS : silent >= tellMillis;
      if (due) {
        told = true;
        toldMillis = nowMillis;
      }
      return due ? CoordinatorSilence.Finding.TELL : CoordinatorSilence.Finding.NOTHING;
    }

    /** Records an answer; returns whether the silence before it was reported. */
    boolean answered(long nowMillis) {
      boolean ends = told;
      told = false;
      answeredMillis = nowMillis;
      return ends;
    }

    /** Returns how many milliseconds of silence have passed while this process ran. */
    long silentMillis(long nowMillis) {
      return nowMillis - answeredMillis;
    }
  }

  /** One join, repeated until a coordinator admits or refuses it, or its time limit has passed. */
  private static final class JoinAttempt {

    private static final long ANSWER_MILLIS = 1_000;
    private static final long RETRY_MILLIS = 100;

    /**
     * Failure code of a process that requires the job's secret, for a sender that has not proved it.
     */
    private static final int NOT_PROVED = 403;

    private final Vertx vertx;
    private final CoordinatorRequests line;
    private final JobConfig job;
    private final JoinRequest request;
    private final Supplier<String> over;
    private final Promise<Admitted> answer = Promise.promise();
    private final long silenceSeconds;
    private final long beganNanos;
    private boolean told;

    /**
     * Creates an attempt that has not started yet.
     *
     * @param over supplies the reason when the job has ended meanwhile, or null
     */
    JoinAttempt(
        Vertx vertx,
        CoordinatorRequests line,
        JobConfig job,
        JoinRequest request,
        Supplier<String> over) {
      this.line = line;
      this.vertx = vertx;
      this.job = job;
      this.request = request;
      this.over = over;
      // A former member may hold what nobody else has, so it keeps asking for longer.
      silenceSeconds =
          request.before().isPresent()
              ? Math.max(job.workers().waitSeconds(), job.exchange().orphanSeconds())
              : job.workers().waitSeconds();
      beganNanos = System.nanoTime();
    }

    /** Sends the request; completes with the admission or fails with a {@link JoinException}. */
    Future<Admitted> answer() {
      attempt();
      return answer.future();
    }

    private void attempt() {
      line.request(request, ANSWER_MILLIS).onSuccess(this::heard).onFailure(this::unheard);
    }

    private void heard(ControlAnswer heard) {
      if (heard instanceof Admitted admitted) {
        answer.complete(admitted);
      } else if (!(heard instanceof Refused refused)) {
        answer.fail(new JoinException("the coordinator's answer to a join makes no sense: " + heard));
      } else if (refused.retry()) {
        tellOnce(refused.why());
        again(JoinException.refused(refused.why()), job.workers().waitSeconds());
      } else if (refused.late()) {
        answer.fail(JoinException.late(refused.why()));
      } else {
        answer.fail(JoinException.refused(refused.why()));
      }
    }

    /**
     * Handles a failed request. A message without the job's secret never reaches the coordinator, so
     * that failure is final.
     */
    private void unheard(Throwable silence) {
      if (silence instanceof ReplyException refused && refused.failureCode() == NOT_PROVED) {
        answer.fail(JoinException.refused(refused.getMessage()));
      } else {
        again(new JoinException(unanswered(silence)), silenceSeconds);
      }
    }

    /** Returns the reason of the failure; a malformed answer has its own message. */
    private String unanswered(Throwable silence) {
      return silence instanceof IllegalArgumentException ? silence.getMessage() : nobody();
    }

    private void tellOnce(String refused) {
      if (!told) {
        told = true;
        LOG.warn("waits up to {} s for a place: {}", job.workers().waitSeconds(), refused);
      }
    }

    private void again(JoinException why, long limitSeconds) {
      if (over.get() != null) {
        answer.fail(new JoinException("the job is over: " + over.get()));
      } else if (System.nanoTime() - beganNanos > TimeUnit.SECONDS.toNanos(limitSeconds)) {
        answer.fail(why);
      } else {
        vertx.setTimer(RETRY_MILLIS, id -> attempt());
      }
    }

    private String nobody() {
      return ("no coordinator answered on %s within %d s (workers.waitSeconds): check that it runs,"
              + " that its job file has the same name (job: \"%s\"), that this node joined its"
              + " cluster (cluster.host: %s, cluster.members: %s), and that both ends have"
              + " certificates of one authority, or neither has any (cluster.certificate: %s)")
          .formatted(
              job.addresses().coordinator(),
              job.workers().waitSeconds(),
              job.addresses().job(),
              job.cluster().host(),
              job.cluster().members(),
              job.cluster().certificate().orElse("none"));
    }
  }

  /** Sends a member's requests to the coordinator. */
  private static final class CoordinatorRequests {

    private static final long LEAVE_MILLIS = 2_000;

    private final Vertx vertx;
    private final Addresses addresses;

    CoordinatorRequests(Vertx vertx, Addresses addresses) {
      this.vertx = vertx;
      this.addresses = addresses;
    }

    /** Sends a request and returns its answer; fails after this many milliseconds. */
    Future<ControlAnswer> request(ControlRequest request, long limitMillis) {
      DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
      return vertx
          .eventBus()
          .<JsonObject>request(addresses.coordinator(), ControlCodec.write(request), options)
          .map(message -> ControlCodec.answer(message.body()));
    }

    /** Reports that a member leaves, with its last status. */
    Future<Void> leave(Admission leaving, LeaveReason reason, MemberStatus status) {
      return request(new Leave(leaving, reason, status), LEAVE_MILLIS).mapEmpty();
    }

    /** Returns the event bus address of this member. */
    String own(Admission member) {
      return addresses.member(member.role().lower(), member.rank(), member.incarnation());
    }
  }

  /** Serves a member's own address: passes requests to its handler and sends back the answers. */
  private static final class MemberRequestHandler {

    private static final int REFUSED = 1;

    private final Role role;
    private final MemberHandler handler;
    private final MessageConsumer<JsonObject> consumer;

    MemberRequestHandler(Vertx vertx, String address, Role role, MemberHandler handler) {
      this.role = role;
      this.handler = handler;
      consumer = vertx.eventBus().consumer(address, this::answer);
    }

    /** Completes when the coordinator can reach this address. */
    Future<Void> open() {
      return consumer.completion();
    }

    void close() {
      consumer.unregister();
    }

    private void answer(Message<JsonObject> message) {
      Future<JsonObject> answer;
      try {
        answer = answer(ControlCodec.memberRequest(message.body()));
      } catch (IllegalArgumentException malformed) {
        answer = Future.failedFuture(malformed);
      }
      answer
          .onSuccess(message::reply)
          .onFailure(failure -> message.fail(REFUSED, failure.getMessage()));
    }

    private Future<JsonObject> answer(MemberRequest request) {
      if (request instanceof Propose propose) {
        return handler.proposed(propose.next()).map(ControlCodec::write);
      }
      if (request instanceof Evaluate) {
        return handler.evaluate().map(ControlCodec::write);
      }
      if (request instanceof Replicate replicate) {
        return handler.replicate(replicate.backup()).map(copied -> new JsonObject());
      }
      if (request instanceof Promote promote) {
        return handler.promoted(promote.as()).map(serves -> new JsonObject());
      }
      return switch ((Command) request) {
        case STATUS ->
            role == Role.WORKER
                ? handler.stepState().map(ControlCodec::write)
                : handler.counters().map(ControlCodec::write);
        case SAVE -> handler.save().map(ControlCodec::writeFile);
        case LEDGER -> handler.updates().map(ControlCodec::writeUpdates);
        case ADOPT -> handler.adopt().map(started -> new JsonObject());
        case CHECKPOINT -> handler.checkpoint().map(ControlCodec::write);
      };
    }
  }

  /**
   * The newest pause that a member has received and its reply, sent with each heartbeat; belongs to
   * the member's context.
   */
  private static final class PauseListener {

    private final MemberHandler handler;
    private final PauseClock clock = new PauseClock();
    private Pause newest = Pause.NONE;
    private long begun;

    PauseListener(MemberHandler handler) {
      this.handler = handler;
    }

    PauseClock clock() {
      return clock;
    }

    /** Forgets everything before another admission, because numbers may start again. */
    void reset() {
      if (newest != Pause.NONE) {
        obey(Pause.NONE);
      }
    }

    /** Takes an instruction if it is new; returns whether the coordinator must be told. */
    boolean hear(Pause word) {
      if (word.number() <= newest.number()) {
        return false;
      }
      obey(word);
      return true;
    }

    /** Returns the number of the newest instruction and the version after the last started step. */
    PauseReply reply() {
      return new PauseReply(newest.number(), begun);
    }

    private void obey(Pause pause) {
      newest = pause;
      clock.hold(PauseClock.Reason.PAUSE, pause.stopsClocks());
      begun = handler.paused(pause);
    }
  }

  /**
   * Monotonic nanoseconds that stand still while the whole job waits. A member uses this clock to
   * limit how long it waits for others. Its limits therefore cannot pass before the job's own limit:
   * it does not give up on a server while {@code workers.waitSeconds} still allows for a replacement,
   * nor on any member while {@code exchange.orphanSeconds} allows for a coordinator. May be read from
   * any thread.
   */
  static final class PauseClock implements LongSupplier {

    /** The reason why the clock stands still. */
    enum Reason {
      /** The job is paused, or waits for a test. */
      PAUSE,
      /** A shard has no server, and the job waits for another one. */
      SERVER_MISSING,
      /** The coordinator does not answer, so nobody knows whether a member is missing. */
      COORDINATOR_SILENT
    }

    private final LongSupplier nanoClock;
    private final Set<Reason> reasons = EnumSet.noneOf(Reason.class);
    private volatile Stand stand = new Stand(false, 0);

    /** The time it stands at, or the offset from the real clock while it runs. */
    private record Stand(boolean still, long nanos) {}

    /** Creates a running clock. */
    public PauseClock() {
      this(System::nanoTime);
    }

    PauseClock(LongSupplier nanoClock) {
      this.nanoClock = nanoClock;
    }

    @Override
    public long getAsLong() {
      Stand now = stand;
      return now.still() ? now.nanos() : nanoClock.getAsLong() - now.nanos();
    }

    /** Adds or removes a reason; the clock runs while there is none. Call it from one thread. */
    void hold(Reason reason, boolean holds) {
      if (holds) {
        reasons.add(reason);
      } else {
        reasons.remove(reason);
      }
      boolean still = !reasons.isEmpty();
      if (still != stand.still()) {
        long time = getAsLong();
        stand = new Stand(still, still ? time : nanoClock.getAsLong() - time);
      }
    }
  }
}
