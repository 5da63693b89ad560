package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.coordinator.Decision.Propose;
import io.vertigrad.verticles.coordinator.Decision.Publish;
import io.vertigrad.verticles.coordinator.Decision.Save;
import io.vertigrad.verticles.strategy.Membership;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/**
 * Who takes part in a job, and how far the job is; a plain object on one thread.
 *
 * <p>Requests, answers and ticks go in, {@link Decision}s come out. A change of membership reaches
 * every server first and is published when all have agreed.
 */
final class Roster {

  /** Reason with which a worker leaves that has seen the last version. */
  static final String FINISHED = "finished";

  private final RosterConfig config;
  private final LongSupplier clockMillis;
  private final Consumer<Decision> decisions;
  private final Attendance attendance = new Attendance();
  private final Gate gate;
  private final Agreement agreement;
  private final Progress progress = new Progress();
  private final Patience patience;
  private final Watch watch;
  private final RosterNews news;
  private final Ending ending;
  private RosterState state = RosterState.WAITING;
  private Membership membership = Membership.NONE;
  private boolean changed;

  /**
   * A roster with nobody on it.
   *
   * @param clockMillis monotonic milliseconds; decides everything
   * @param wallMillis milliseconds since 1970, for events only
   * @param decisions called on the roster's thread
   */
  Roster(
      RosterConfig config,
      LongSupplier clockMillis,
      LongSupplier wallMillis,
      Consumer<Decision> decisions) {
    this.config = config;
    this.clockMillis = clockMillis;
    this.decisions = decisions;
    gate = new Gate(config);
    agreement = new Agreement(config.lockstep(), config.lastVersion());
    patience = new Patience(config, attendance, agreement);
    news = new RosterNews(decisions, wallMillis);
    ending = new Ending(decisions, news);
    watch = new Watch(config, attendance, news, clockMillis.getAsLong());
  }

  RosterState state() {
    return state;
  }

  /** As published last. */
  Membership membership() {
    return membership;
  }

  /** Why a member that is not here any more is not. */
  String farewell(Admission admission) {
    return attendance.farewell(admission);
  }

  /** Why the job is over, once it is. */
  String verdict() {
    return ending.reason();
  }

  /**
   * Admits a newcomer, or the same one again when its request was repeated.
   *
   * @throws JoinException with the reason for the user
   */
  Admission join(JoinRequest request) {
    Optional<Attendee> again = attendance.withToken(request.token());
    if (again.isPresent()) {
      return again.get().admission();
    }
    if (state.over()) {
      throw new JoinException("the job is over: " + ending.reason());
    }
    if (request.role() == Role.WORKER && lastVersionReached()) {
      throw new JoinException("the job has reached its last version, " + config.lastVersion());
    }
    gate.check(request, attendance);
    Attendee newcomer = attendance.admit(request, clockMillis.getAsLong());
    news.joined(newcomer);
    changed = true;
    settle();
    return newcomer.admission();
  }

  /** Takes a sign of life; false when this member is not, or no longer, part of the job. */
  boolean heartbeat(Admission from, JsonObject status) {
    Optional<Attendee> attendee = attendance.find(from);
    if (attendee.isEmpty()) {
      return false;
    }
    boolean wasReady = attendee.get().ready();
    attendee.get().heard(status, clockMillis.getAsLong());
    progress.heard(status);
    if (attendee.get().ready() != wasReady) {
      changed = true;
      settle();
    }
    return true;
  }

  /** Passes on how a member says it is. */
  void vitals(Admission from, JsonObject vitals) {
    attendance.find(from).ifPresent(attendee -> news.vitals(attendee, vitals));
  }

  /** Lets a member go in good order. */
  void leave(Admission from, String reason, JsonObject status) {
    progress.heard(status);
    attendance.find(from).ifPresent(attendee -> remove(attendee, reason));
    settle();
  }

  /** True while a server's answer to this proposal matters. */
  boolean awaits(int epoch, int server) {
    return agreement.awaits(epoch, server);
  }

  /** A server took the proposed membership over. */
  void accepted(int epoch, int server) {
    agreement.accepted(epoch, server);
    publishWhenAgreed();
  }

  /** A server has already reached {@code version}, at or past a newcomer's first round. */
  void refused(int epoch, int server, long version) {
    if (!agreement.awaits(epoch, server)) {
      return;
    }
    progress.reached(version);
    agreement.widen();
    if (lastVersionReached()) {
      attendance.of(Role.WORKER).stream()
          .filter(worker -> !worker.published())
          .toList()
          .forEach(worker -> remove(worker, "the job ended before its first round"));
    }
    changed = true;
    settle();
  }

  /** The end was evaluated, or could not be; {@code statuses} are the servers' last counters. */
  void concluded(Iterable<JsonObject> statuses, Optional<JsonObject> evaluation) {
    if (state == RosterState.FINISHING) {
      statuses.forEach(progress::heard);
      state = RosterState.FINISHED;
      ending.finished(progress, evaluation);
    }
  }

  /** Has every server write a checkpoint now. */
  void save() {
    decisions.accept(
        new Save(attendance.readyServers().stream().map(Attendee::admission).toList()));
  }

  /** Ends the job from outside, or lets the members of an ended one go. */
  void stop(String reason) {
    if (state != RosterState.STOPPED) {
      state = RosterState.STOPPED;
      ending.stopped(progress, reason);
    }
  }

  /** Looks at the clock: suspects, evicts, gives up waiting. Called a few times a second. */
  void tick() {
    long now = clockMillis.getAsLong();
    watch.overdue(now).forEach(silent -> remove(silent, silent.silence(now)));
    patience.unresponsive(now).forEach(server -> remove(server, "it answered no proposal"));
    settle();
    patience.exhausted(state, progress.anyFinished(), now).ifPresent(this::fail);
    if (patience.letGo(state, now)) {
      stop("nobody asked for more after the end");
    }
  }

  /** True when everybody who was part of the job has left. */
  boolean deserted() {
    return attendance.all().findAny().isEmpty();
  }

  private void remove(Attendee attendee, String why) {
    Admission who = attendee.admission();
    attendance.remove(attendee, why);
    news.left(who, why);
    if (who.role() == Role.WORKER && why.equals(FINISHED)) {
      progress.workerFinished();
    }
    changed |= who.role() != Role.EVALUATOR;
  }

  private void settle() {
    if (state == RosterState.WAITING && patience.quorate(clockMillis.getAsLong())) {
      state = RosterState.RUNNING;
      changed = true;
    }
    if (state == RosterState.RUNNING && workersDone()) {
      state = RosterState.FINISHING;
      ending.conclude(attendance, progress);
    }
    if (state == RosterState.RUNNING && changed) {
      changed = false;
      patience.unrestored(progress.version()).ifPresentOrElse(this::fail, this::propose);
    }
  }

  /** Without servers the workers hold the model, so they stay after their last step. */
  private boolean workersDone() {
    return config.servers() > 0
        ? progress.anyFinished() && attendance.count(Role.WORKER) == 0
        : attendance.count(Role.WORKER) > 0
            && attendance.of(Role.WORKER).stream()
                .allMatch(worker -> worker.version().orElse(0) >= config.lastVersion());
  }

  private void propose() {
    Membership next = agreement.propose(attendance, progress.version(), membership.epoch() > 0);
    next.servers()
        .forEach(
            server ->
                decisions.accept(
                    new Propose(
                        next, new Admission(Role.SERVER, server.rank(), server.incarnation()))));
    publishWhenAgreed();
  }

  private void publishWhenAgreed() {
    if (state != RosterState.RUNNING || !agreement.complete()) {
      return;
    }
    boolean first = membership.epoch() == 0;
    membership = agreement.close();
    attendance.published(membership);
    if (first) {
      news.started(config, membership, gate.parameters());
    }
    decisions.accept(new Publish(membership));
  }

  private boolean lastVersionReached() {
    return progress.anyFinished() || progress.version() >= config.lastVersion();
  }

  private void fail(String reason) {
    if (!state.over()) {
      state = RosterState.FAILED;
      ending.failed(progress, reason);
    }
  }
}
