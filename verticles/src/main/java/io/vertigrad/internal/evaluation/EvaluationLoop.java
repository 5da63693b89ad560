package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.ExchangeException;
import io.vertigrad.internal.exchange.ParameterSnapshot;
import io.vertigrad.internal.exchange.SnapshotSource;
import io.vertigrad.internal.exchange.UnansweredException;
import io.vertigrad.internal.membership.EvaluationResult;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for the next version worth testing, pulls, scores, tells; in between it obeys commands.
 *
 * <p>A server answers its pull when the version is reached, so that nothing polls; when testing
 * takes longer than the versions between two tests, versions are skipped. Asynchronous training
 * goes on while partitions are pulled: such a snapshot may mix versions and is reported at its
 * lowest. Where training waits for tests, none is skipped, and nothing goes on before it was told
 * that the version has been tested. {@link #run()} belongs to the model's thread, the rest may be
 * called by any.
 */
final class EvaluationLoop {

  private static final Logger LOG = LoggerFactory.getLogger(EvaluationLoop.class);
  private static final int COMMANDS = 8;
  private static final long IDLE_MILLIS = 50;
  private static final long SETTLED_NANOS = 1_000_000_000;

  private final SnapshotSource source;
  private final Evaluation evaluation;
  private final EvaluationPlan plan;
  private final EvaluatorStatus status;
  private final Consumer<Evaluated> events;
  private final Runnable wake;
  private final BlockingQueue<Promise<EvaluationResult>> commands =
      new LinkedBlockingQueue<>(COMMANDS);
  private volatile boolean stopping;
  private long tested;
  private boolean inVain;

  /**
   * @param status is told of each test
   * @param wake makes a pull that waits look whether it is still wanted
   */
  EvaluationLoop(
      SnapshotSource source,
      Evaluation evaluation,
      EvaluationPlan plan,
      EvaluatorStatus status,
      Consumer<Evaluated> events,
      Runnable wake) {
    this.source = source;
    this.evaluation = evaluation;
    this.plan = plan;
    this.status = status;
    this.events = events;
    this.wake = wake;
  }

  /**
   * Tests what is in the model before the first pull: the initial parameters, which follow from the
   * seed. On the model's thread, which so has it done while others still start.
   *
   * @return tells of it, once the job runs
   */
  Runnable testInitial() {
    Evaluated initial = evaluation.initial();
    return () -> tell(initial);
  }

  /** Tests until it is stopped, also after the last version: someone may still ask. */
  void run() throws InterruptedException {
    try {
      while (!stopping) {
        work();
      }
    } finally {
      stopping = true;
      refuseCommands();
    }
  }

  void stop() {
    stopping = true;
    wake.run();
  }

  /** Tests the newest parameters on the whole test set, before anything else is tested. */
  Future<EvaluationResult> testWhole() {
    Promise<EvaluationResult> command = Promise.promise();
    if (stopping || !commands.offer(command)) {
      return Future.failedFuture(
          "the evaluator is stopping, or has %d commands waiting".formatted(COMMANDS));
    }
    wake.run();
    return command.future();
  }

  private void work() throws InterruptedException {
    boolean over = plan.next(tested) == EvaluationPlan.NONE;
    long idleMillis = over || inVain ? IDLE_MILLIS : 0;
    Promise<EvaluationResult> command = commands.poll(idleMillis, TimeUnit.MILLISECONDS);
    if (command != null) {
      obey(command);
    } else if (!over) {
      testNext();
    }
  }

  private void testNext() {
    inVain = false;
    long due = plan.next(tested);
    try {
      pull(due).ifPresent(snapshot -> test(due, snapshot));
    } catch (UnansweredException notYet) {
      inVain = true;
      LOG.debug("no version {} yet, waits again: {}", due, notYet.getMessage());
    }
  }

  /**
   * The parameters at a version that is due, or later ones.
   *
   * <p>Servers that hold each partition at that version by itself may have partitions that do not
   * get there: of a worker that died in the middle of a step some were applied, and everybody else
   * waits. When nothing has moved for a while, such a mixture is what there is to test.
   */
  private Optional<ParameterSnapshot> pull(long due) {
    if (!plan.blocking() || !plan.perGradient()) {
      return source.pull(due, this::interrupted);
    }
    ParameterSnapshot before = null;
    while (!interrupted()) {
      long limit = System.nanoTime() + SETTLED_NANOS;
      Optional<ParameterSnapshot> reached =
          source.pull(due, () -> interrupted() || System.nanoTime() - limit > 0);
      if (reached.isPresent()) {
        return reached;
      }
      ParameterSnapshot now = source.pull(0, this::interrupted).orElse(null);
      if (now != null && now.highestVersion() >= due && now.equals(before)) {
        return Optional.of(now);
      }
      before = now;
    }
    return Optional.empty();
  }

  private boolean interrupted() {
    return stopping || !commands.isEmpty();
  }

  private void test(long due, ParameterSnapshot snapshot) {
    tested = plan.blocking() ? Math.max(due, snapshot.lowestVersion()) : snapshot.lowestVersion();
    status.testing(tested);
    tell(evaluated(snapshot, evaluation.part(tested), false));
    status.evaluated(tested);
  }

  private void obey(Promise<EvaluationResult> command) {
    try {
      Optional<ParameterSnapshot> pulled = source.pull(0, () -> stopping);
      if (pulled.isPresent()) {
        command.complete(testWhole(pulled.get()));
      } else {
        command.fail("the evaluator is stopping");
      }
    } catch (ExchangeException e) {
      command.fail(e);
    }
  }

  private EvaluationResult testWhole(ParameterSnapshot snapshot) {
    Evaluated whole = evaluated(snapshot, evaluation.whole(), true);
    tell(whole);
    if (!plan.blocking() && plan.next(whole.version()) == EvaluationPlan.NONE) {
      // Nothing follows: the part of the test set that may still be due at this version is in it.
      tested = Math.max(tested, whole.version());
    }
    return new EvaluationResult(
        whole.version(),
        snapshot.highestVersion(),
        whole.samples(),
        whole.loss(),
        whole.accuracy(),
        whole.topK(),
        whole.topAccuracy(),
        whole.parametersHash(),
        whole.metric());
  }

  private void tell(Evaluated result) {
    events.accept(result);
    LOG.info(
        "version {}: {}, loss {} ({} test samples{})",
        result.version(),
        result.text(
            result.topK() == 0
                ? ""
                : String.format(
                    Locale.ROOT, ", top %d %.2f %%", result.topK(), result.topAccuracy())),
        String.format(Locale.ROOT, "%.4f", result.loss()),
        result.samples(),
        result.wholeTestSet() ? ", all of them" : "");
  }

  private Evaluated evaluated(ParameterSnapshot snapshot, Score score, boolean whole) {
    return Evaluated.of(snapshot.lowestVersion(), score, evaluation.topK(), whole, snapshot.hash());
  }

  private void refuseCommands() {
    for (Promise<EvaluationResult> late = commands.poll(); late != null; late = commands.poll()) {
      late.fail("the evaluator is stopping");
    }
  }
}
