package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Brings a running job to rest and has it saved before it is ended ahead of time; belongs to the
 * coordinator's context.
 *
 * <p>Workers finish their current step, as in a pause. Then the members that hold the model write a
 * checkpoint, and servers report their last counters. Each of the three has a time limit.
 */
public final class OrderlyStop {

  private static final long REST_MILLIS = 10_000;
  private static final long LOOK_MILLIS = 20;
  private static final long ANSWER_MILLIS = 1_000;
  private static final long SAVE_MILLIS = 20_000;
  private static final StepState NO_ANSWER = new StepState(-1, 0, false);

  private final Vertx vertx;
  private final CoordinatorState coordinator;
  private final DecisionExecutor executor;
  private final MemberNames names;
  private final boolean workersHoldModel;
  private final boolean saves;
  private final List<Path> files = new ArrayList<>();
  private final List<String> unsaved = new ArrayList<>();

  /**
   * How far the stop came.
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
   * @param workersHoldModel true when the workers keep checkpoints
   * @param saves true to have checkpoints written
   */
  public OrderlyStop(
      Vertx vertx,
      CoordinatorState coordinator,
      DecisionExecutor executor,
      MemberNames names,
      boolean workersHoldModel,
      boolean saves) {
    this.vertx = vertx;
    this.coordinator = coordinator;
    this.executor = executor;
    this.names = names;
    this.workersHoldModel = workersHoldModel;
    this.saves = saves;
  }

  /**
   * Starts the stop.
   *
   * @return completes with how far it came; never fails
   */
  public Future<Outcome> begin() {
    if (!coordinator.halt()) {
      return Future.succeededFuture(new Outcome(List.of(), List.of(), List.of()));
    }
    Promise<List<String>> rest = Promise.promise();
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(REST_MILLIS);
    look(rest, deadline, List.of());
    return rest.future()
        .compose(
            busy ->
                (saves ? saveAll() : Future.<Void>succeededFuture())
                    .compose(saved -> count())
                    .map(counted -> new Outcome(busy, files, unsaved)));
  }

  /** Asks every worker until all report twice that they are in no step, at the same versions. */
  private void look(Promise<List<String>> rest, long deadline, List<Long> before) {
    List<Admission> workers = coordinator.members(Role.WORKER);
    List<Future<StepState>> answers =
        workers.stream()
            .map(worker -> executor.stepState(worker, ANSWER_MILLIS))
            .map(answer -> answer.otherwise(NO_ANSWER))
            .toList();
    Future.all(answers)
        .onSuccess(
            all -> {
              List<String> busy = new ArrayList<>();
              List<Long> versions = new ArrayList<>();
              for (int i = 0; i < workers.size(); i++) {
                StepState answer = answers.get(i).result();
                versions.add(answer.version());
                if (!rests(answer)) {
                  busy.add(names.of(workers.get(i)));
                }
              }
              if (busy.isEmpty() && versions.equals(before) || System.nanoTime() > deadline) {
                rest.complete(busy);
              } else {
                List<Long> now = busy.isEmpty() ? versions : List.of();
                vertx.setTimer(LOOK_MILLIS, id -> look(rest, deadline, now));
              }
            });
  }

  private boolean rests(StepState answer) {
    return answer.idle() && answer.pause() >= coordinator.pauses().heldSince();
  }

  private Future<Void> saveAll() {
    List<Admission> holders = new ArrayList<>(coordinator.members(Role.SERVER));
    if (workersHoldModel) {
      holders.addAll(coordinator.members(Role.WORKER));
    }
    return Future.join(holders.stream().map(this::save).toList()).mapEmpty();
  }

  private Future<Void> save(Admission holder) {
    return executor
        .save(holder, SAVE_MILLIS)
        .onSuccess(file -> file.ifPresent(files::add))
        .onFailure(why -> unsaved.add(names.of(holder) + ": " + why.getMessage()))
        .<Void>mapEmpty()
        .otherwiseEmpty();
  }

  private Future<Void> count() {
    List<Future<Void>> counted =
        coordinator.members(Role.SERVER).stream()
            .map(server -> executor.counters(server, new ArrayList<>()))
            .map(status -> status.onSuccess(coordinator::counted).<Void>mapEmpty())
            .toList();
    List<Future<Void>> updates =
        coordinator.members(Role.SERVER).stream().map(executor::updates).toList();
    return Future.join(Future.join(counted), Future.join(updates))
        .onSuccess(done -> coordinator.countReplicas())
        .mapEmpty();
  }
}
