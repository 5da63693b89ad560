package io.vertigrad.internal.evaluation;

import io.vertigrad.compute.Score;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.ParameterReader;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.internal.membership.EvaluationResult;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.ExchangeException.UnansweredException;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits for the next version to test, pulls it, scores it and publishes the result. Between tests
 * it runs commands.
 *
 * <p>A server answers the pull when the version is reached, so the loop does not poll. If a test
 * takes longer than the interval between two tests, versions are skipped. Asynchronous training
 * continues while partitions are pulled, so a snapshot may mix versions; it is reported with its
 * lowest one. If training waits for tests, no version is skipped, and training continues only after
 * the coordinator has received the end of the test.
 *
 * <p>{@link #run()} belongs to the model's thread, the rest may be called by any thread.
 */
final class EvaluationLoop {

  private static final Logger LOG = LoggerFactory.getLogger(EvaluationLoop.class);
  private static final int MAX_COMMANDS = 8;
  private static final long IDLE_MILLIS = 50;
  private static final long SETTLED_NANOS = 1_000_000_000;

  private final ParameterReader source;
  private final Evaluation evaluation;
  private final EvaluationPlan plan;
  private final LongConsumer onTest;
  private final LongConsumer onTested;
  private final Consumer<Evaluated> events;
  private final Runnable wake;
  private final BlockingQueue<Promise<EvaluationResult>> commands =
      new LinkedBlockingQueue<>(MAX_COMMANDS);
  private volatile boolean stopping;
  private long tested;
  private boolean unanswered;

  /**
   * Creates a loop.
   *
   * @param onTest receives the version of a test that begins
   * @param onTested receives the version of a test whose result was published
   * @param wake wakes a waiting pull, so that it checks whether it is still wanted
   */
  EvaluationLoop(
      ParameterReader source,
      Evaluation evaluation,
      EvaluationPlan plan,
      LongConsumer onTest,
      LongConsumer onTested,
      Consumer<Evaluated> events,
      Runnable wake) {
    this.source = source;
    this.evaluation = evaluation;
    this.plan = plan;
    this.onTest = onTest;
    this.onTested = onTested;
    this.events = events;
    this.wake = wake;
  }

  /**
   * Tests the model's parameters before the first pull. These are the initial parameters, which
   * follow from the seed. Call it on the model's thread, while other members still start.
   *
   * @return publishes the result; run it once the job runs
   */
  Runnable testInitial() {
    Evaluated initial = evaluation.initial();
    return () -> publish(initial);
  }

  /** Tests until stopped, also after the last version, because commands may still come. */
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

  /** Tests the newest parameters on the whole test set, before any other test. */
  Future<EvaluationResult> testWhole() {
    Promise<EvaluationResult> command = Promise.promise();
    if (stopping || !commands.offer(command)) {
      return Future.failedFuture(
          "the evaluator is stopping, or has %s commands waiting".formatted(MAX_COMMANDS));
    }
    wake.run();
    return command.future();
  }

  private void work() throws InterruptedException {
    boolean done = plan.next(tested) == EvaluationPlan.NONE;
    long idleMillis = done || unanswered ? IDLE_MILLIS : 0;
    Promise<EvaluationResult> command = commands.poll(idleMillis, TimeUnit.MILLISECONDS);
    if (command != null) {
      runCommand(command);
    } else if (!done) {
      testNext();
    }
  }

  private void testNext() {
    unanswered = false;
    long due = plan.next(tested);
    try {
      pull(due).ifPresent(snapshot -> test(due, snapshot));
    } catch (UnansweredException notYet) {
      unanswered = true;
      LOG.debug("no version {} yet, waits again: {}", due, notYet.getMessage());
    }
  }

  /**
   * Returns the parameters at the version to test, or later ones.
   *
   * <p>Servers that hold each partition at that version separately may have partitions that never
   * reach it: if a worker died during a step, some of its partitions were applied and all other
   * workers wait. If no version has changed for a while, the loop tests such a mixture.
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
    onTest.accept(tested);
    publish(evaluated(snapshot, evaluation.part(tested), false));
    onTested.accept(tested);
  }

  private void runCommand(Promise<EvaluationResult> command) {
    try {
      Optional<ParameterSnapshot> pulled = source.pull(0, () -> stopping);
      if (pulled.isPresent()) {
        command.complete(testWhole(pulled.get()));
      } else {
        command.fail("the evaluator is stopping");
      }
    } catch (RuntimeException e) {
      command.fail(e);
      if (!(e instanceof ExchangeException)) {
        throw e;
      }
    }
  }

  private EvaluationResult testWhole(ParameterSnapshot snapshot) {
    Evaluated whole = evaluated(snapshot, evaluation.whole(), true);
    publish(whole);
    if (!plan.blocking() && plan.next(whole.version()) == EvaluationPlan.NONE) {
      // No test follows, and this one includes the part that may still be due at this version.
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

  private void publish(Evaluated result) {
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
    for (Promise<EvaluationResult> waiting = commands.poll();
        waiting != null;
        waiting = commands.poll()) {
      waiting.fail("the evaluator is stopping");
    }
  }
}
