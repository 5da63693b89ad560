package io.vertigrad.training;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.ParameterSnapshot;
import io.vertigrad.internal.peer.ModelReader;
import io.vertigrad.internal.pipeline.AssembledStages;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The trained network: read from the servers or workers at the end, saved, and tested if nobody
 * did.
 */
public final class FinalModel {

  private static final Logger LOG = LoggerFactory.getLogger(FinalModel.class);
  private static final int BATCH = 250;

  private final Vertx vertx;
  private final JobConfig job;
  private final Membership membership;

  /** {@code membership} says who holds it, and must still be there. */
  public FinalModel(Vertx vertx, JobConfig job, Membership membership) {
    this.vertx = vertx;
    this.job = job;
    this.membership = membership;
  }

  /**
   * Loads the engine and the test set once, so that a process in which nothing was trained need not
   * load the native libraries when the job has ended. A failure is only logged: {@link #save} fails
   * for the same reason.
   */
  public static Future<Void> prepare(Vertx vertx, JobConfig job) {
    return vertx
        .<Void>executeBlocking(
            () -> {
              Dataset test =
                  DatasetProvider.open(job.data(), Split.TEST, FinalModel.class.getClassLoader());
              Engine.named(job.engine()).model(job.modelOn(test)).close();
              return null;
            },
            false)
        .onFailure(e -> LOG.debug("the final model could not be prepared", e));
  }

  /**
   * Saves the final parameters.
   *
   * @param tested the evaluator's last word, which stands if it is about these parameters
   * @return how the saved model does on the whole test set
   */
  public Future<Evaluated> save(Path file, Optional<Evaluated> tested) {
    return save(file, tested, Long.MAX_VALUE);
  }

  /**
   * Saves the parameters there are.
   *
   * @param tested as above
   * @param limitSeconds how long the saved model is tested at most
   * @return how it does on the whole test set, or on as many samples as could be tested
   */
  public Future<Evaluated> save(Path file, Optional<Evaluated> tested, long limitSeconds) {
    return vertx.executeBlocking(() -> pullAndSave(file, tested, limitSeconds), false);
  }

  private Evaluated pullAndSave(Path file, Optional<Evaluated> tested, long limitSeconds)
      throws IOException {
    Dataset test = DatasetProvider.open(job.data(), Split.TEST, getClass().getClassLoader());
    ModelConfig config = job.modelOn(test);
    try (Model model = Engine.named(job.engine()).model(config)) {
      ParameterSnapshot snapshot = pull(config, model);
      save(model, file);
      return tested
          .filter(found -> isOf(snapshot, found))
          .map(found -> found.of(snapshot.hash()))
          .orElseGet(() -> test(model, test, snapshot, job.evaluator().topK(), limitSeconds));
    }
  }

  /** Stages that test themselves know no hash, but move in step. */
  private static boolean isOf(ParameterSnapshot snapshot, Evaluated tested) {
    return tested.parametersHash().isEmpty()
        ? snapshot.consistent() && tested.version() == snapshot.lowestVersion()
        : tested.parametersHash().equals(snapshot.hash());
  }

  /** Whole or not at all: a disk may be full. */
  private static void save(Model model, Path file) throws IOException {
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try {
      model.save(part);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      Files.deleteIfExists(part);
      throw new UncheckedIOException(
          "%s: the trained model could not be saved: %s; make room there, or train with --run-dir"
              .formatted(file, e.getMessage()),
          e);
    }
  }

  private ParameterSnapshot pull(ModelConfig config, Model model) {
    StrategyFactory strategy =
        StrategyProviders.configure(job.strategy(), getClass().getClassLoader());
    ModelReader reader =
        AssembledStages.reader(
            vertx.eventBus(), job, strategy, config, model, event -> {}, () -> Score.NONE);
    reader.membership().accept(membership);
    return reader.source().pull();
  }

  private static Evaluated test(
      Model model, Dataset test, ParameterSnapshot snapshot, int topK, long limitSeconds) {
    long begun = System.nanoTime();
    Score score = Score.NONE;
    for (Batch batch : SequentialBatches.all(test, BATCH)) {
      score = score.plus(model.score(batch, topK));
      if (TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) >= limitSeconds) {
        break;
      }
    }
    boolean whole = score.samples() == test.size();
    return Evaluated.of(snapshot.lowestVersion(), score, topK, whole, snapshot.hash());
  }
}
