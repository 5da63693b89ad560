package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Chosen;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Divided;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Refused;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Released;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Standby;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Unknown;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReportCandidates;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Command;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Propose;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.ControlMessage.Published.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.Published.StopPublished;
import io.vertigrad.internal.membership.LeaveReason.Kind;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertigrad.strategy.GroupChangedException;
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
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
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

  private static final long LEAVE_MILLIS = 2_000;
  private static final long JOIN_MILLIS = 1_000;
  private static final long JOIN_RETRY_MILLIS = 100;
  private static final long STANDBY_RETRY_MILLIS = 10;
  private static final long CHOICE_RETRY_MILLIS = 5;
  private static final long LONGEST_INTERVAL_MILLIS = 1_000;
  private static final double MILLIS_PER_SECOND = 1_000;
  private static final int REFUSED = 1;

  /**
   * Failure code of a process that requires the job's secret, for a sender that has not proved it.
   */
  private static final int FORBIDDEN_CODE = 403;

  private final Vertx vertx;
  private final Context context;
  private final JobConfig job;
  private final Role role;
  private final MemberHandler handler;
  private final ProcessHealth health;
  private final PauseClock clock = new PauseClock();
  private final int servers;
  private final Optional<? extends AdmissionSource> source;
  private Phase phase = new Outside("it has not joined");
  private MessageConsumer<JsonObject> control;
  private Optional<Admission> previousAdmission = Optional.empty();
  private Optional<Admission> preferred = Optional.empty();
  private PauseReply pauseReply = PauseReply.NONE;
  private volatile Promise<Membership> started = Promise.promise();
  private volatile boolean joinsAsSubstitute;
  private volatile Map<String, DataFingerprint> fingerprints = Map.of();
  private volatile Optional<Admitted> lastAnswer = Optional.empty();
  private volatile Membership membership = Membership.NONE;
  private volatile MemberStatus status = MemberStatus.NONE;

  /** Gives a member its admissions, which another process has got for it from the coordinator. */
  public interface AdmissionSource {

    /**
     * Asks for the next admission.
     *
     * @param request the join request of this process
     * @return completes with what {@link #transferAdmission} returned in the other process
     */
    Future<JsonObject> next(JsonObject request);

    /** Reports that the member takes no further part. */
    void ended(String reason);
  }

  /**
   * It is {@link Outside}, then a {@link JoinAttempt}, then a {@link Member}, which may become
   * {@link Transferred}; from all of them it may become outside again.
   */
  private sealed interface Phase {}

  /**
   * It is no member of the job.
   *
   * @param why it is none, for messages
   */
  private record Outside(String why) implements Phase {}

  /**
   * A member in another process goes on under the admission.
   *
   * @param as the admission
   */
  private record Transferred(Admission as) implements Phase {}

  /**
   * Creates the connection of a member that may run where another process has joined for it.
   *
   * @param source gives it its admissions; empty to ask the coordinator
   */
  public CoordinatorClient(
      Vertx vertx,
      JobConfig job,
      Role role,
      MemberHandler handler,
      Optional<? extends AdmissionSource> source) {
    this.vertx = vertx;
    this.job = job;
    this.role = role;
    this.handler = handler;
    this.source = source;
    health = new ProcessHealth(job.engine());
    servers =
        StrategyProviders.configure(job, CoordinatorClient.class.getClassLoader())
                .traits()
                .besideServers()
            ? job.servers().count()
            : 0;
    context = vertx.getOrCreateContext();
  }

  /**
   * Makes later joins ask for a rank without a worker, to be given up when another comes for it.
   */
  public void joinAsSubstitute() {
    joinsAsSubstitute = true;
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
          if (!(phase instanceof Outside || phase instanceof Transferred)) {
            return Future.failedFuture(
                new IllegalStateException(
                    "expected a join from outside of the job, not "
                        + phase.getClass().getSimpleName()));
          }
          JoinAttempt attempt = new JoinAttempt(request(layout, holds));
          phase = attempt;
          resetPause();
          if (started.future().isComplete()) {
            started = Promise.promise();
          }
          return listen()
              .compose(listening -> answer(attempt))
              .onFailure(why -> leavePhase(attempt, why.getMessage()))
              .compose(answer -> admitted(answer, attempt));
        });
  }

  private Future<Admitted> answer(JoinAttempt attempt) {
    return source
        .map(
            from ->
                from.next(ControlCodec.write((ControlRequest) attempt.request))
                    .map(handed -> (Admitted) ControlCodec.answer(handed)))
        .orElseGet(attempt::send);
  }

  /**
   * Gives up an admission without leaving the job: the member in another process goes on under it.
   * Joins again if there is no admission.
   *
   * @param asked the join request of that process
   * @return the admission, for an {@link AdmissionSource}; fails if the two processes differ in job
   *     file, data or model
   */
  public Future<JsonObject> transferAdmission(ParameterLayout layout, JsonObject asked) {
    return onContext(
        () -> {
          JoinRequest request = (JoinRequest) ControlCodec.request(asked);
          JoinRequest own = request(layout, request.holds());
          Optional<String> difference =
              own.terms()
                  .firstDifference(request.terms())
                  .or(
                      () ->
                          DataFingerprint.firstDifference(
                              own.terms().fingerprints(), request.terms().fingerprints()))
                  .or(() -> layout.firstDifference(request.layout()));
          if (difference.isPresent()) {
            return Future.failedFuture(
                new JoinException(
                    ("%s, beside the strategy, differs from this process in %s; start both with the"
                            + " same job file and data")
                        .formatted(request.node(), difference.get())));
          }
          return member()
              .map(member -> Future.succeededFuture(member.as))
              .orElseGet(
                  () -> {
                    leaveMember("the member in another process joins again");
                    return join(layout, request.holds());
                  })
              .map(this::transfer);
        });
  }

  private JsonObject transfer(Admission given) {
    leaveMember("its admission was transferred");
    phase = new Transferred(given);
    previousAdmission = Optional.of(given);
    return ControlCodec.write((ControlAnswer) lastAnswer.orElseThrow());
  }

  /** Records that the member under the admission that was transferred has left. */
  public void transferredHasLeft() {
    context.runOnContext(
        go -> {
          if (phase instanceof Transferred) {
            phase = new Outside("the member in another process has left");
          }
        });
  }

  /** Sets the fingerprints of data and model files that later joins show; any thread. */
  public void show(Map<String, DataFingerprint> found) {
    fingerprints = Map.copyOf(found);
  }

  /** Returns the fingerprints that joins show. */
  public Map<String, DataFingerprint> fingerprints() {
    return fingerprints;
  }

  /** Returns the name of the run that this member was admitted to; empty before. */
  public String run() {
    return lastAnswer.map(Admitted::run).orElse("");
  }

  /** Returns whether a server continues from what it had in memory when it last joined. */
  public boolean keepsMemory() {
    return lastAnswer.filter(Admitted::keeps).isPresent();
  }

  /** Returns the version that a server goes back to after its last join; empty for its newest. */
  public OptionalLong rollbackVersion() {
    return lastAnswer.map(Admitted::from).orElse(OptionalLong.empty());
  }

  /** Returns the clock by which this member limits how long it waits for others. */
  public LongSupplier clock() {
    return clock;
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
    boolean ended = ended(newStatus) && !ended(status);
    status = newStatus;
    if (ready || ended) {
      context.runOnContext(go -> sendHeartbeat());
    }
  }

  private static boolean ended(MemberStatus status) {
    return status instanceof WorkerStatus worker && worker.ended();
  }

  /** Sets the status and sends a heartbeat at once. */
  public void reportNow(MemberStatus newStatus) {
    status = newStatus;
    context.runOnContext(go -> sendHeartbeat());
  }

  /**
   * Asks which state all workers of a membership continue from.
   *
   * @return fails with a {@link GroupChangedException} when there is a newer membership or the
   *     admission has ended, and with an {@link UnansweredException} that names the missing workers
   *     after {@code exchange.deadlineMillis} by {@link #clock}
   */
  public Future<Choice> choice(Candidates candidates) {
    return onContext(
        () ->
            new Question<>(
                    new ReportCandidates(candidates),
                    candidates.from(),
                    candidates.epoch(),
                    "no version chosen for membership epoch " + candidates.epoch(),
                    answer ->
                        answer instanceof Chosen chosen
                            ? Optional.of(chosen.choice())
                            : Optional.empty())
                .send());
  }

  /**
   * Asks how the samples of a round are divided among the workers.
   *
   * @param nanosPerSample this worker's time for a sample in its recent rounds; 0 if unknown
   * @param known the newest division that it had before
   * @return fails as {@link #choice} does
   */
  public Future<BatchDivision> division(
      Admission from, long round, long nanosPerSample, Optional<BatchDivision> known) {
    return onContext(
        () ->
            new Question<>(
                    new AskDivision(from, round, nanosPerSample, known),
                    from,
                    membership.epoch(),
                    "batches of round %s not divided".formatted(round),
                    answer ->
                        answer instanceof Divided divided
                            ? Optional.of(divided.division())
                            : Optional.empty())
                .send());
  }

  /**
   * Leaves in good order; {@code finished} means that the job's last version was reached. Leaves
   * for the member to which the admission was {@linkplain #transferAdmission transferred}, if there
   * is one.
   */
  public Future<Void> leave(LeaveReason reason) {
    return onContext(
        () -> {
          Optional<Admission> held = admission();
          close("left: " + reason);
          Future<Void> leaving =
              held.map(as -> sendLeave(as, reason)).orElseGet(Future::succeededFuture);
          boolean over = reason.kind() != Kind.STOPPED && reason.kind() != Kind.LOST;
          source
              .filter(unused -> over)
              .ifPresent(from -> leaving.onComplete(sent -> from.ended(reason.toString())));
          return leaving;
        });
  }

  private <T> Future<T> onContext(Supplier<Future<T>> action) {
    if (Context.isOnVertxThread() && Vertx.currentContext() == context) {
      return action.get();
    }
    Promise<T> promise = Promise.promise();
    context.runOnContext(go -> action.get().onComplete(promise));
    return promise.future();
  }

  private Future<Void> listen() {
    if (control != null) {
      return Future.succeededFuture();
    }
    control = vertx.eventBus().consumer(job.addresses().control(), m -> onControlMessage(m.body()));
    return control.completion();
  }

  /**
   * Asks for a rank of which this member's machine has the files. It gets it if it is free, and had
   * no rank before.
   */
  public void prefer(int rank) {
    preferred = Optional.of(new Admission(role, rank, 0));
  }

  private JoinRequest request(ParameterLayout layout, OptionalLong holds) {
    return new JoinRequest(
        role,
        UUID.randomUUID().toString(),
        job.cluster().nodeName(ProcessHandle.current().pid()),
        vertx.isClustered() ? ((VertxInternal) vertx).clusterManager().getNodeId() : "",
        new JobTerms(JobTerms.of(job).values(), fingerprints),
        layout,
        joinsAsSubstitute,
        previousAdmission.or(() -> preferred),
        holds,
        status);
  }

  private Future<Admission> admitted(Admitted answer, JoinAttempt attempt) {
    if (phase != attempt) {
      sendLeave(answer.admission(), LeaveReason.lost("left while it joined"));
      return Future.failedFuture(leftWhileJoining());
    }
    lastAnswer = Optional.of(answer);
    Member member = new Member(answer.admission());
    phase = member;
    return member
        .open()
        .compose(
            listening -> {
              if (phase != member) {
                return Future.failedFuture(leftWhileJoining());
              }
              member.startHeartbeats();
              return Future.succeededFuture(member.as);
            });
  }

  private JoinException leftWhileJoining() {
    return new JoinException("left while it joined: " + outsideReason());
  }

  private String outsideReason() {
    return phase instanceof Outside outside ? outside.why() : "it joins again";
  }

  /** Returns the member that the coordinator can reach, if there is one. */
  private Optional<Member> member() {
    return phase instanceof Member member && member.heartbeats != null
        ? Optional.of(member)
        : Optional.empty();
  }

  /** Returns the admission of this member, or that of the one in another process. */
  private Optional<Admission> admission() {
    if (phase instanceof Member member) {
      return Optional.of(member.as);
    }
    return phase instanceof Transferred other ? Optional.of(other.as) : Optional.empty();
  }

  /** Leaves a phase, unless another one has followed already. */
  private void leavePhase(Phase left, String why) {
    if (phase == left) {
      phase = new Outside(why);
    }
  }

  // ---- Requests to the coordinator

  /** Sends a request and returns its answer; fails after this many milliseconds. */
  private Future<ControlAnswer> send(ControlRequest request, long limitMillis) {
    DeliveryOptions options = new DeliveryOptions().setSendTimeout(limitMillis);
    return vertx
        .eventBus()
        .<JsonObject>request(job.addresses().coordinator(), ControlCodec.write(request), options)
        .map(message -> ControlCodec.answer(message.body()));
  }

  /** Reports that a member leaves, with its last status. */
  private Future<Void> sendLeave(Admission leaving, LeaveReason reason) {
    return send(new Leave(leaving, reason, status), LEAVE_MILLIS).mapEmpty();
  }

  private void sendHeartbeat() {
    member().ifPresent(member -> member.heartbeats.send());
  }

  private Future<Void> sendHeartbeat(Member member, long limitMillis) {
    Heartbeat request =
        new Heartbeat(
            member.as, membership.epoch(), status, Optional.of(health.measure()), pauseReply);
    long sentNanos = System.nanoTime();
    return send(request, limitMillis)
        .onSuccess(
            answer -> {
              health.recordRoundTrip(System.nanoTime() - sentNanos);
              if (phase == member) {
                handle(member, answer);
              }
            })
        .mapEmpty();
  }

  // ---- Answers and messages of the coordinator

  private void handle(Member member, ControlAnswer answer) {
    if (answer instanceof Released released) {
      onStopped(released.why());
    } else if (answer instanceof Unknown unknown) {
      previousAdmission = Optional.of(member.as);
      leaveMember("evicted: " + unknown.why());
      handler.onEvicted(unknown.why());
    } else if (answer instanceof Granted granted) {
      granted.membership().ifPresent(this::handle);
      granted.pause().ifPresent(this::handle);
    } else if (answer instanceof Refused refused) {
      LOG.warn("the coordinator refused a heartbeat of {}: {}", member.as, refused.why());
    }
  }

  private void onControlMessage(JsonObject published) {
    try {
      handle(ControlCodec.message(published));
    } catch (IllegalArgumentException malformed) {
      LOG.warn("ignored on {}: {}", job.addresses().control(), malformed.getMessage());
    }
  }

  private void handle(Published message) {
    if (message instanceof StopPublished stop) {
      onStopped(stop.why());
    } else if (message instanceof MembershipPublished published) {
      handle(published.membership());
    } else if (message instanceof PausePublished published) {
      handle(published.pause());
    }
  }

  private void handle(Membership newer) {
    Optional<Member> member = member();
    if (member.isEmpty() || newer.epoch() <= membership.epoch()) {
      return;
    }
    membership = newer;
    clock.setReason(PauseClock.Reason.SERVER_MISSING, newer.servers().size() < servers);
    handler.membershipChanged(newer);
    if (phase == member.get() && member.get().as.isPartOf(newer)) {
      started.tryComplete(newer);
    }
  }

  /** Applies an instruction if it is new, and replies to it with a heartbeat. */
  private void handle(Pause pause) {
    if (member().isPresent() && pause.number() > pauseReply.number()) {
      apply(pause);
      sendHeartbeat();
    }
  }

  /** Forgets the newest instruction before another admission, because numbers may start again. */
  private void resetPause() {
    if (pauseReply.number() != Pause.NONE.number()) {
      apply(Pause.NONE);
    }
  }

  private void apply(Pause pause) {
    clock.setReason(PauseClock.Reason.PAUSE, pause.stopsClocks());
    pauseReply = new PauseReply(pause.number(), handler.onPause(pause));
  }

  private void onCoordinatorLost(long silentMillis) {
    onStopped(
        ("the coordinator has not answered on %s for %s ms (exchange.orphanSeconds): it crashed, or"
                + " the network is down")
            .formatted(job.addresses().coordinator(), silentMillis));
  }

  private void onStopped(String reason) {
    Phase left = phase;
    close(reason);
    if (left instanceof Member member) {
      handler.onStopped(reason);
      sendLeave(member.as, LeaveReason.STOPPED);
      source.ifPresent(from -> from.ended(reason));
    }
  }

  /** Gives up rank and address; control messages are still received. */
  private void leaveMember(String reason) {
    if (phase instanceof Member member) {
      member.close();
    }
    phase = new Outside(reason);
  }

  /** Stops listening and stops heartbeats, for good or until the next join. */
  private void close(String reason) {
    leaveMember(reason);
    started.tryFail(new JoinException("not started: " + reason));
    if (control != null) {
      control.unregister();
      control = null;
    }
  }

  /** One join, repeated until a coordinator admits or refuses it, or its time limit has passed. */
  private final class JoinAttempt implements Phase {

    private final JoinRequest request;
    private final Promise<Admitted> admitted = Promise.promise();
    private final long silenceSeconds;
    private final long startedNanos = System.nanoTime();
    private boolean waitLogged;

    JoinAttempt(JoinRequest request) {
      this.request = request;
      // A former member may hold what nobody else has, so it keeps asking for longer.
      silenceSeconds =
          previousAdmission.isPresent()
              ? Math.max(job.workers().waitSeconds(), job.exchange().orphanSeconds())
              : job.workers().waitSeconds();
    }

    /** Sends the request; completes with the admission or fails with a {@link JoinException}. */
    Future<Admitted> send() {
      attempt();
      return admitted.future();
    }

    private void attempt() {
      CoordinatorClient.this
          .send(request, JOIN_MILLIS)
          .onSuccess(this::onAnswer)
          .onFailure(this::onFailure);
    }

    private void onAnswer(ControlAnswer answer) {
      if (answer instanceof Admitted admission) {
        admitted.complete(admission);
      } else if (answer instanceof Standby standby) {
        if (!waitLogged) {
          waitLogged = true;
          LOG.info("stands by: {}", standby.why());
        }
        retry(
            JoinException.refused(standby.why()),
            job.workers().waitSeconds(),
            STANDBY_RETRY_MILLIS);
      } else if (!(answer instanceof Refused refused)) {
        admitted.fail(
            new JoinException("the coordinator's answer to a join makes no sense: " + answer));
      } else if (refused.retry()) {
        logWaitOnce(refused.why());
        retry(JoinException.refused(refused.why()), job.workers().waitSeconds());
      } else if (refused.late()) {
        admitted.fail(JoinException.late(refused.why()));
      } else {
        admitted.fail(JoinException.refused(refused.why()));
      }
    }

    /**
     * Handles a failed request. A message without the job's secret never reaches the coordinator,
     * so that failure is final.
     */
    private void onFailure(Throwable failure) {
      if (failure instanceof ReplyException refused && refused.failureCode() == FORBIDDEN_CODE) {
        admitted.fail(JoinException.refused(refused.getMessage()));
      } else {
        retry(new JoinException(failureMessage(failure)), silenceSeconds);
      }
    }

    /** Returns the reason of the failure; a malformed answer has its own message. */
    private String failureMessage(Throwable failure) {
      return failure instanceof IllegalArgumentException
          ? failure.getMessage()
          : noCoordinatorMessage();
    }

    private void logWaitOnce(String refusal) {
      if (!waitLogged) {
        waitLogged = true;
        LOG.warn("waits up to {} s for a place: {}", job.workers().waitSeconds(), refusal);
      }
    }

    private void retry(JoinException failure, long limitSeconds) {
      retry(failure, limitSeconds, JOIN_RETRY_MILLIS);
    }

    private void retry(JoinException failure, long limitSeconds, long millis) {
      if (phase != this) {
        admitted.fail(new JoinException("the job is over: " + outsideReason()));
      } else if (System.nanoTime() - startedNanos > TimeUnit.SECONDS.toNanos(limitSeconds)) {
        admitted.fail(failure);
      } else {
        vertx.setTimer(millis, id -> attempt());
      }
    }

    private String noCoordinatorMessage() {
      return ("no coordinator answered on %s within %s s (workers.waitSeconds): check that it runs,"
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

  /** One request of a worker, repeated until it is granted or can no longer be. */
  private final class Question<T> {

    private final ControlRequest request;
    private final Admission from;
    private final int lastEpoch;
    private final String missing;
    private final Function<ControlAnswer, Optional<T>> granted;
    private final Promise<T> answered = Promise.promise();
    private final long startedNanos = clock.getAsLong();
    private long retryMillis = CHOICE_RETRY_MILLIS;

    /**
     * Creates a request that is not sent yet.
     *
     * @param lastEpoch epoch of the last membership in which it makes sense
     * @param missing what was not granted in time, for the error
     * @param granted returns what an answer grants
     */
    Question(
        ControlRequest request,
        Admission from,
        int lastEpoch,
        String missing,
        Function<ControlAnswer, Optional<T>> granted) {
      this.request = request;
      this.from = from;
      this.lastEpoch = lastEpoch;
      this.missing = missing;
      this.granted = granted;
    }

    Future<T> send() {
      attempt();
      return answered.future();
    }

    private void attempt() {
      CoordinatorClient.this
          .send(request, JOIN_MILLIS)
          .onSuccess(this::onAnswer)
          .onFailure(failure -> retry("does not answer: " + failure.getMessage()));
    }

    private void onAnswer(ControlAnswer answer) {
      Optional<T> found = granted.apply(answer);
      if (found.isPresent()) {
        answered.complete(found.get());
      } else {
        retry(
            answer instanceof Refused refused
                ? refused.why()
                : "answers with " + answer.getClass().getSimpleName());
      }
    }

    /** Asks again, unless this membership has ended or the time limit has passed. */
    private void retry(String answer) {
      long limitMillis = job.exchange().deadlineMillis();
      long waitedNanos = clock.getAsLong() - startedNanos;
      boolean ended = member().filter(member -> member.as.equals(from)).isEmpty();
      if (ended || membership.epoch() > lastEpoch) {
        answered.fail(new GroupChangedException("membership epoch " + membership.epoch()));
      } else if (waitedNanos > TimeUnit.MILLISECONDS.toNanos(limitMillis)) {
        answered.fail(
            new UnansweredException(
                ("%s: %s within %s ms: the coordinator %s. See the logs there, or raise"
                        + " exchange.deadlineMillis")
                    .formatted(
                        from.describe(job.nameOf(from.role().lower(), from.rank())),
                        missing,
                        limitMillis,
                        answer)));
      } else {
        vertx.setTimer(retryMillis, id -> attempt());
        retryMillis = Math.min(JOIN_RETRY_MILLIS, 2 * retryMillis);
      }
    }
  }

  /**
   * Sends a member's heartbeats: one at once, then one per interval, with or without answers.
   *
   * <p>A silent coordinator is no reason to stop: the member goes on, logs the silence, and gives
   * up only after {@code exchange.orphanSeconds}. Time in which this process itself was paused does
   * not count.
   */
  private final class Heartbeats {

    private final Member member;
    private final CoordinatorSilence silence;
    private final long timer;

    /** Starts to send heartbeats. */
    Heartbeats(Member member) {
      this.member = member;
      long suspectMillis = job.exchange().suspectMillis();
      silence =
          new CoordinatorSilence(
              suspectMillis,
              suspectMillis,
              TimeUnit.SECONDS.toMillis(job.exchange().orphanSeconds()),
              now());
      long interval = Math.min(LONGEST_INTERVAL_MILLIS, Math.max(1, suspectMillis / 3));
      timer = vertx.setPeriodic(1, interval, id -> checkAndSend());
    }

    void stop() {
      vertx.cancelTimer(timer);
      clock.setReason(PauseClock.Reason.COORDINATOR_SILENT, false);
    }

    /** Sends one heartbeat now, in addition to the regular ones. */
    void send() {
      sendHeartbeat(member, job.exchange().evictMillis()).onSuccess(answer -> onAnswer());
    }

    private void checkAndSend() {
      CoordinatorSilence.Finding found = silence.check(now());
      if (found == CoordinatorSilence.Finding.GIVE_UP) {
        stop();
        onCoordinatorLost(silence.silentMillis(now()));
        return;
      }
      if (found == CoordinatorSilence.Finding.REPORT) {
        clock.setReason(PauseClock.Reason.COORDINATOR_SILENT, true);
        LOG.warn(
            "the coordinator has not answered {} for {} s; it goes on, and stops after {} s"
                + " (exchange.orphanSeconds)",
            member.as,
            seconds(),
            job.exchange().orphanSeconds());
      }
      send();
    }

    private void onAnswer() {
      String seconds = seconds();
      if (silence.onAnswer(now())) {
        clock.setReason(PauseClock.Reason.COORDINATOR_SILENT, false);
        LOG.info("the coordinator answers {} again after {} s", member.as, seconds);
      }
    }

    private String seconds() {
      return String.format(Locale.ROOT, "%.1f", silence.silentMillis(now()) / MILLIS_PER_SECOND);
    }

    private long now() {
      return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
    }
  }

  /**
   * One admission. Serves the member's own address: passes requests to the handler and sends back
   * the answers. Sends heartbeats once the coordinator can reach that address.
   */
  private final class Member implements Phase {

    private final Admission as;
    private final MessageConsumer<JsonObject> consumer;
    private Heartbeats heartbeats;

    Member(Admission as) {
      this.as = as;
      String address = job.addresses().member(as.role().lower(), as.rank(), as.incarnation());
      consumer = vertx.eventBus().consumer(address, this::answer);
    }

    /** Completes when the coordinator can reach this address. */
    Future<Void> open() {
      return consumer.completion();
    }

    void startHeartbeats() {
      heartbeats = new Heartbeats(this);
    }

    void close() {
      consumer.unregister();
      if (heartbeats != null) {
        heartbeats.stop();
        heartbeats = null;
      }
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
        return handler.onProposal(propose.next()).map(ControlCodec::write);
      }
      if (request instanceof Evaluate) {
        return handler.evaluate().map(ControlCodec::write);
      }
      return switch ((Command) request) {
        case STATUS ->
            role == Role.WORKER
                ? handler.stepState().map(ControlCodec::write)
                : handler.counters().map(ControlCodec::writeStatus);
        case SAVE -> handler.save().map(ControlCodec::writeFile);
        case LEDGER -> handler.updates().map(ControlCodec::writeUpdates);
        case HAND_OVER -> handler.handOver().map(ControlCodec::writeStatus);
        case ADOPT -> handler.startSubstitute().map(started -> new JsonObject());
        case CHECKPOINT -> handler.checkpoint().map(ControlCodec::writeStatus);
      };
    }
  }

  /**
   * Measures how long a member has not heard from its coordinator and decides what to do; does no
   * I/O and runs on one thread.
   *
   * <p>Silence is reported once it reaches a limit and then once a minute. It ends the member only
   * after a much longer limit. When two calls of {@link #check} are too far apart, this process
   * itself did not run, and that time does not count.
   */
  static final class CoordinatorSilence {

    private static final long REPEAT_MILLIS = 60_000;

    private final long freezeMillis;
    private final long reportMillis;
    private final long limitMillis;
    private long answeredMillis;
    private long checkedMillis;
    private long reportedMillis;
    private boolean reported;

    /** The result of a check. */
    enum Finding {
      /** The coordinator answers, or its silence was reported less than a minute ago. */
      NONE,
      /** The coordinator is silent; report it. */
      REPORT,
      /** The coordinator has been silent for the limit. */
      GIVE_UP
    }

    /**
     * Starts as if the coordinator had just answered.
     *
     * @param freezeMillis checks further apart than this mean that this process did not run
     * @param reportMillis silence after which it is reported
     * @param limitMillis silence after which the member gives up
     * @param nowMillis monotonic
     */
    CoordinatorSilence(long freezeMillis, long reportMillis, long limitMillis, long nowMillis) {
      this.freezeMillis = freezeMillis;
      this.reportMillis = reportMillis;
      this.limitMillis = limitMillis;
      answeredMillis = nowMillis;
      checkedMillis = nowMillis;
    }

    /** Looks at the clock; call it far more often than every {@code freezeMillis}. */
    Finding check(long nowMillis) {
      long gap = nowMillis - checkedMillis;
      checkedMillis = nowMillis;
      if (gap > freezeMillis) {
        answeredMillis += gap;
        reportedMillis += gap;
      }
      long silent = silentMillis(nowMillis);
      if (silent >= limitMillis) {
        return Finding.GIVE_UP;
      }
      boolean due = reported ? nowMillis - reportedMillis >= REPEAT_MILLIS : silent >= reportMillis;
      if (due) {
        reported = true;
        reportedMillis = nowMillis;
      }
      return due ? Finding.REPORT : Finding.NONE;
    }

    /** Records an answer; returns whether the silence before it was reported. */
    boolean onAnswer(long nowMillis) {
      boolean ends = reported;
      reported = false;
      answeredMillis = nowMillis;
      return ends;
    }

    /** Returns how many milliseconds of silence have passed while this process ran. */
    long silentMillis(long nowMillis) {
      return nowMillis - answeredMillis;
    }
  }

  /**
   * Monotonic nanoseconds that stand still while the whole job waits. A member uses this clock to
   * limit how long it waits for others. Its limits therefore cannot pass before the job's own
   * limit: it does not give up on a server while {@code workers.waitSeconds} still allows for a
   * replacement, nor on any member while {@code exchange.orphanSeconds} allows for a coordinator.
   * May be read from any thread.
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
    private volatile State state = new State(false, 0);

    /** The time it stands at, or the offset from the real clock while it runs. */
    private record State(boolean stopped, long nanos) {}

    /** Creates a running clock. */
    PauseClock() {
      this(System::nanoTime);
    }

    PauseClock(LongSupplier nanoClock) {
      this.nanoClock = nanoClock;
    }

    @Override
    public long getAsLong() {
      State now = state;
      return now.stopped() ? now.nanos() : nanoClock.getAsLong() - now.nanos();
    }

    /** Adds or removes a reason; the clock runs while there is none. Call it from one thread. */
    void setReason(Reason reason, boolean present) {
      if (present) {
        reasons.add(reason);
      } else {
        reasons.remove(reason);
      }
      boolean stopped = !reasons.isEmpty();
      if (stopped != state.stopped()) {
        long time = getAsLong();
        state = new State(stopped, stopped ? time : nanoClock.getAsLong() - time);
      }
    }
  }
}
