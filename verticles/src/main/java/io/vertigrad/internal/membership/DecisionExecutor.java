package io.vertigrad.internal.membership;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointsDelayed;
import io.vertigrad.events.TrainingEvent.Figures;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Command;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.ControlMessage.Published.DrainPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.Published.StopPublished;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.Announce;
import io.vertigrad.internal.membership.Decision.Complete;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.HandOver;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.Decision.Hung;
import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.RecordDivisions;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertigrad.internal.membership.Decision.Succeed;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries out the decisions of a coordinator's state on the event bus and returns the answers to
 * it.
 */
public final class DecisionExecutor implements Consumer<Decision> {

  private static final Logger LOG = LoggerFactory.getLogger(DecisionExecutor.class);
  private static final long ANSWER_MILLIS = 1_000;
  private static final long RETRY_MILLIS = 100;
  private static final long COUNTERS_MILLIS = 5_000;
  private static final long UPDATES_MILLIS = 30_000;
  private static final long EVALUATION_MILLIS = 120_000;
  private static final long REST_MILLIS = 10_000;
  private static final long POLL_MILLIS = 20;
  private static final long LEAVE_MILLIS = 30_000;

  /** On a busy machine a small checkpoint may take long, too. */
  private static final long SAVE_MILLIS = 60_000;

  /** Slowest disk: so many parameters a millisecond. */
  private static final long PARAMETERS_PER_MILLI = 1_000;

  private static final StepState NO_ANSWER = new StepState(-1, 0, false);

  private final Vertx vertx;
  private final JobConfig job;
  private final Addresses addresses;
  private final List<String> classes;
  private final Promise<JsonObject> result;
  private final EventPublisher events;
  private CoordinatorState coordinator;
  private Consumer<String> hung = node -> {};
  private Consumer<String> drained = node -> {};

  public DecisionExecutor(Vertx vertx, JobConfig job, Promise<JsonObject> result) {
    this.vertx = vertx;
    this.job = job;
    this.addresses = job.addresses();
    this.classes = job.classNames();
    this.result = result;
    events = new EventPublisher(vertx, addresses);
  }

  /** Sets the state that receives the answers; call it before the first decision. */
  public void setCoordinator(CoordinatorState coordinator) {
    this.coordinator = coordinator;
  }

  /** Sets the listener for processes that stay silent long after their members were evicted. */
  public void onHungProcess(Consumer<String> listener) {
    hung = listener;
  }

  /** Sets the listener for processes whose members were asked to leave, and need a successor. */
  public void onDrain(Consumer<String> listener) {
    drained = listener;
  }

  /**
   * Gives the state what earlier coordinators of the run have recorded about it.
   *
   * @return fails if a file is damaged or of another job
   */
  public Future<Void> restore() {
    if (!job.workers().balancesSpeed()) {
      return Future.succeededFuture();
    }
    Optional<CheckpointFolder> folder = BatchDivisions.folder(job, coordinator.run());
    return vertx
        .executeBlocking(() -> BatchDivisions.of(job, folder))
        .onSuccess(coordinator::divide)
        .mapEmpty();
  }

  @Override
  public void accept(Decision decision) {
    if (decision instanceof Announce announce) {
      TrainingEvent event = announce.event();
      announce(event instanceof JobStarted started ? started.withClasses(classes) : event);
    } else if (decision instanceof Propose propose) {
      propose(propose);
    } else if (decision instanceof Publish publish) {
      control(new MembershipPublished(publish.membership()));
    } else if (decision instanceof Hold hold) {
      control(new PausePublished(hold.pause()));
    } else if (decision instanceof Conclude conclude) {
      conclude(conclude);
    } else if (decision instanceof Save save) {
      save.servers().forEach(this::save);
    } else if (decision instanceof RecordDivisions divisions) {
      record(divisions.all());
    } else if (decision instanceof Adopt adopt) {
      adopt(adopt);
    } else if (decision instanceof HandOver handOver) {
      handOver(handOver);
    } else if (decision instanceof Succeed succeed) {
      control(new DrainPublished(succeed.node()));
      drained.accept(succeed.node());
    } else if (decision instanceof Hung silent) {
      hung.accept(silent.node());
    } else if (decision instanceof Complete complete) {
      JsonObject outcome = ControlCodec.write(complete.outcome());
      LOG.info("the job is over: {}", outcome.encode());
      result.complete(outcome);
    } else if (decision instanceof Stop stop) {
      control(new StopPublished(stop.reason()));
    }
  }

  private void announce(TrainingEvent event) {
    if (event instanceof ShardRolledBack || event instanceof CheckpointsDelayed) {
      LOG.warn("{}", event);
    } else if (!(event instanceof Figures)) {
      LOG.info("{}", event.toJson().encode());
    }
    events.publish(event);
  }

  /** Without the record a resumed run divides rounds anew, so a failure does not end the job. */
  private void record(List<BatchDivision> divisions) {
    Optional<CheckpointFolder> folder = BatchDivisions.folder(job, coordinator.run());
    vertx
        .executeBlocking(
            () -> {
              if (folder.isPresent()) {
                BatchDivisions.write(divisions, folder.get());
              }
              return null;
            })
        .onFailure(
            why ->
                LOG.warn("the division of batches cannot be kept for resume: {}", why.toString()))
        .onComplete(done -> coordinator.divisionsRecorded());
  }

  private void control(Published message) {
    vertx.eventBus().publish(addresses.control(), ControlCodec.write(message, coordinator.state()));
  }

  private void propose(Propose propose) {
    int epoch = propose.next().epoch();
    int server = propose.server().rank();
    if (!coordinator.isPending(epoch, server)) {
      return;
    }
    request(propose.server(), new MemberRequest.Propose(propose.next()), ANSWER_MILLIS)
        .map(ControlCodec::proposalAnswer)
        .onSuccess(
            answer -> {
              if (answer.reached().isPresent()) {
                coordinator.refused(epoch, server, answer.reached().getAsLong());
              } else {
                coordinator.accepted(epoch, server, answer);
              }
            })
        .onFailure(
            failure -> {
              LOG.debug("{} has not answered proposal {}", propose.server(), epoch, failure);
              vertx.setTimer(RETRY_MILLIS, id -> propose(propose));
            });
  }

  private void adopt(Adopt adopt) {
    LOG.info("worker {} is missing, {} is asked to take its rank", adopt.rank(), adopt.carrier());
    request(adopt.carrier(), Command.ADOPT, ANSWER_MILLIS)
        .onFailure(
            failure -> LOG.warn("{} takes no rank: {}", adopt.carrier(), failure.getMessage()));
  }

  /** Asks for a checkpoint; the server announces it itself. */
  private void save(Admission server) {
    request(server, Command.CHECKPOINT, ANSWER_MILLIS)
        .onFailure(
            failure -> LOG.warn("{} writes no checkpoint: {}", server, failure.getMessage()));
  }

  private void handOver(HandOver handOver) {
    Admission member = handOver.member();
    (handOver.rests() ? atRest(REST_MILLIS) : Future.succeededFuture(List.<String>of()))
        .compose(
            busy ->
                busy.isEmpty()
                    ? request(member, Command.HAND_OVER, saveMillis())
                    : Future.failedFuture(
                        "%s finished no step in %s s"
                            .formatted(String.join(", ", busy), REST_MILLIS / 1_000)))
        .map(ControlCodec::status)
        .onSuccess(
            status -> {
              coordinator.handedOver(member, status);
              vertx.setTimer(LEAVE_MILLIS, id -> coordinator.notHandedOver(member));
            })
        .onFailure(
            failure -> {
              LOG.warn(
                  "{} does not hand its place over, and goes on: {}", member, failure.getMessage());
              coordinator.notHandedOver(member);
            });
  }

  /** Returns how long a member may take to write a checkpoint. */
  private long saveMillis() {
    return SAVE_MILLIS + coordinator.parameters() / PARAMETERS_PER_MILLI;
  }

  /**
   * Waits until all workers, which are held back, report twice that they are in no step, at the
   * same versions.
   *
   * @return completes with the names of those that are still in a step after the limit
   */
  private Future<List<String>> atRest(long limitMillis) {
    Promise<List<String>> atRest = Promise.promise();
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
    pollWorkers(atRest, deadline, List.of());
    return atRest.future();
  }

  private void pollWorkers(Promise<List<String>> atRest, long deadline, List<Long> before) {
    List<Admission> workers = coordinator.members(Role.WORKER);
    List<Future<StepState>> answers =
        workers.stream()
            .map(worker -> request(worker, Command.STATUS, ANSWER_MILLIS))
            .map(answer -> answer.map(ControlCodec::stepState).otherwise(NO_ANSWER))
            .toList();
    Future.all(answers)
        .onSuccess(
            all -> {
              List<String> busy = new ArrayList<>();
              List<Long> versions = new ArrayList<>();
              for (int i = 0; i < workers.size(); i++) {
                StepState answer = answers.get(i).result();
                versions.add(answer.version());
                if (!coordinator.isAtRest(workers.get(i), answer)) {
                  busy.add(coordinator.names().of(workers.get(i)));
                }
              }
              if (busy.isEmpty() && versions.equals(before) || System.nanoTime() > deadline) {
                atRest.complete(busy);
              } else {
                List<Long> now = busy.isEmpty() ? versions : List.of();
                vertx.setTimer(POLL_MILLIS, id -> pollWorkers(atRest, deadline, now));
              }
            });
  }

  private void conclude(Conclude conclude) {
    List<Admission> silent = new ArrayList<>();
    List<Future<MemberStatus>> statuses =
        conclude.servers().stream().map(server -> counters(server, silent)).toList();
    Future<Optional<EvaluationResult>> evaluation =
        conclude
            .evaluator()
            .map(evaluator -> evaluate(evaluator, conclude.version()))
            .orElseGet(() -> Future.succeededFuture(Optional.empty()));
    List<Future<Void>> updates = conclude.servers().stream().map(this::updates).toList();
    Future.all(Future.all(statuses), Future.all(updates), evaluation)
        .onSuccess(
            done ->
                coordinator.concluded(
                    statuses.stream().map(Future::result).toList(), silent, evaluation.result()));
  }

  /**
   * Asks a server for the outcome of every update. The ledger names a server that does not answer.
   * The server writes its last checkpoint first.
   */
  private Future<Void> updates(Admission server) {
    return requestFromServerOrReplacement(server, Command.LEDGER, UPDATES_MILLIS)
        .map(ControlCodec::updates)
        .onSuccess(ranks -> coordinator.updates(server.rank(), ranks))
        .onFailure(
            failure -> LOG.warn("{} did not report its updates: {}", server, failure.getMessage()))
        .<Void>mapEmpty()
        .otherwiseEmpty();
  }

  /**
   * Asks a server for its last status with its counters; if it does not answer, adds it to {@code
   * silent} and returns {@link MemberStatus#NONE}.
   */
  private Future<MemberStatus> counters(Admission server, List<Admission> silent) {
    return requestFromServerOrReplacement(server, Command.STATUS, COUNTERS_MILLIS)
        .map(ControlCodec::status)
        .otherwise(
            failure -> {
              LOG.warn("{} did not report its last counters: {}", server, failure.getMessage());
              silent.add(server);
              return MemberStatus.NONE;
            });
  }

  /** Asks a server or, if it was lost, its replacement, which has the checkpoint it left. */
  private Future<JsonObject> requestFromServerOrReplacement(
      Admission server, Command question, long limitMillis) {
    long waitNanos = TimeUnit.MILLISECONDS.toNanos(coordinator.waitMillis());
    return ask(server, question, limitMillis, System.nanoTime() + waitNanos);
  }

  private Future<JsonObject> ask(
      Admission server, Command question, long limitMillis, long deadlineNanos) {
    return request(server, question, limitMillis)
        .recover(
            failure -> {
              Promise<Admission> replacement = Promise.promise();
              if (coordinator.isHere(server)) {
                replacement.fail(failure);
              } else {
                awaitReplacement(server, deadlineNanos, failure, replacement);
              }
              return replacement
                  .future()
                  .compose(next -> ask(next, question, limitMillis, deadlineNanos));
            });
  }

  private void awaitReplacement(
      Admission lost, long deadlineNanos, Throwable failure, Promise<Admission> replacement) {
    Optional<Admission> found =
        coordinator.members(Role.SERVER).stream()
            .filter(other -> other.rank() == lost.rank())
            .findFirst();
    if (found.isPresent()) {
      replacement.complete(found.get());
    } else if (!coordinator.servesModel() || System.nanoTime() - deadlineNanos > 0) {
      replacement.fail(failure);
    } else {
      vertx.setTimer(
          RETRY_MILLIS, id -> awaitReplacement(lost, deadlineNanos, failure, replacement));
    }
  }

  private Future<Optional<EvaluationResult>> evaluate(Admission evaluator, long version) {
    return request(evaluator, new Evaluate(version), EVALUATION_MILLIS)
        .map(ControlCodec::evaluation)
        .map(Optional::of)
        .otherwise(
            failure -> {
              LOG.warn("{} could not evaluate the end: {}", evaluator, failure.getMessage());
              return Optional.empty();
            });
  }

  private Future<JsonObject> request(Admission to, MemberRequest request, long limitMillis) {
    String address = addresses.member(to.role().lower(), to.rank(), to.incarnation());
    return vertx
        .eventBus()
        .<JsonObject>request(
            address, ControlCodec.write(request), new DeliveryOptions().setSendTimeout(limitMillis))
        .map(message -> message.body());
  }

  /**
   * Brings a running job to rest and has it saved before it is ended ahead of time; belongs to the
   * coordinator's context.
   *
   * <p>Workers finish their current step, as in a pause. Then the members that hold the model write
   * a checkpoint, and servers report their last counters. Each of the three has a time limit.
   */
  public static final class OrderlyStop {

    private final CoordinatorState coordinator;
    private final DecisionExecutor executor;
    private final MemberNames names;
    private final boolean saves;
    private final List<Path> files = new ArrayList<>();
    private final List<String> unsaved = new ArrayList<>();

    /**
     * The progress of an orderly stop.
     *
     * @param busy names of workers that did not come to rest in time
     * @param checkpoints files that were written
     * @param unsaved one text for each member whose checkpoint failed
     */
    public record Outcome(List<String> busy, List<Path> checkpoints, List<String> unsaved) {

      public Outcome {
        busy = List.copyOf(busy);
        checkpoints = List.copyOf(checkpoints);
        unsaved = List.copyOf(unsaved);
      }
    }

    /**
     * Creates a stop that has not begun.
     *
     * @param saves true to have checkpoints written
     */
    public OrderlyStop(CoordinatorState coordinator, DecisionExecutor executor, boolean saves) {
      this.coordinator = coordinator;
      this.executor = executor;
      this.names = coordinator.names();
      this.saves = saves;
    }

    /**
     * Starts the stop.
     *
     * @return completes with how far it came; never fails
     */
    public Future<Outcome> start() {
      if (!coordinator.holdForGood()) {
        return Future.succeededFuture(new Outcome(List.of(), List.of(), List.of()));
      }
      return executor
          .atRest(REST_MILLIS)
          .compose(
              busy ->
                  (saves ? saveAll() : Future.<Void>succeededFuture())
                      .compose(saved -> count())
                      .map(counted -> new Outcome(busy, files, unsaved)));
    }

    private Future<Void> saveAll() {
      List<Admission> holders = new ArrayList<>(coordinator.members(Role.SERVER));
      if (coordinator.workersHoldModel()) {
        holders.addAll(coordinator.members(Role.WORKER));
      }
      return Future.join(holders.stream().map(this::save).toList()).mapEmpty();
    }

    private Future<Void> save(Admission holder) {
      return executor
          .request(holder, Command.SAVE, executor.saveMillis())
          .map(ControlCodec::file)
          .onSuccess(file -> file.ifPresent(files::add))
          .onFailure(failure -> unsaved.add(names.of(holder) + ": " + failure.getMessage()))
          .<Void>mapEmpty()
          .otherwiseEmpty();
    }

    private Future<Void> count() {
      List<Future<Void>> counted =
          coordinator.members(Role.SERVER).stream()
              .map(server -> executor.counters(server, new ArrayList<>()))
              .map(status -> status.onSuccess(coordinator::onLastStatus).<Void>mapEmpty())
              .toList();
      List<Future<Void>> updates =
          coordinator.members(Role.SERVER).stream().map(executor::updates).toList();
      return Future.join(Future.join(counted), Future.join(updates))
          .onSuccess(done -> coordinator.countReplicas())
          .mapEmpty();
    }
  }
}
