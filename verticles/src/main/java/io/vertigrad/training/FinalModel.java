package io.vertigrad.training;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.SequentialBatches;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.internal.exchange.JobModel;
import io.vertigrad.internal.exchange.ParameterReader.ParameterSnapshot;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.Membership;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The network of a job that still runs, or has ended but not released its members yet. Reads it
 * from the servers, or from the workers if there are no servers, then saves and tests it.
 *
 * <p>Each call builds a model of its own on a worker thread of Vert.x and closes it there.
 */
public final class FinalModel {

  private static final Logger LOG = LoggerFactory.getLogger(FinalModel.class);

  /**
   * Same as the evaluator's batch size, so that a test of the same parameters gives the same loss.
   */
  static final int BATCH = 128;

  private final Vertx vertx;
  private final JobConfig job;
  private final Membership membership;
  private volatile String stage = "listening to the job";
  private volatile long testEndNanos;
  private volatile boolean endsTest;

  /**
   * Creates a reader of the job's network; nothing is read yet.
   *
   * @param vertx a Vert.x in the job's cluster
   * @param job the job
   * @param membership the members that hold the parameters; they must still be present
   */
  public FinalModel(Vertx vertx, JobConfig job, Membership membership) {
    this.vertx = vertx;
    this.job = job;
    this.membership = membership;
  }

  /**
   * Loads the engine and the test set once, on a worker thread. A process that trains nothing
   * itself then does not load the native libraries at the end of the job.
   *
   * @param vertx the Vert.x whose worker thread is used
   * @param job the job
   * @return completes when they are loaded; a failure is only logged, because {@link #save} fails
   *     for the same reason
   */
  public static Future<Void> prepare(Vertx vertx, JobConfig job) {
    return vertx
        .<Void>executeBlocking(
            () -> {
              JobModel.of(job, job.modelOn(open(job))).close();
              return null;
            },
            false)
        .onFailure(e -> LOG.debug("the final model could not be prepared", e));
  }

  /**
   * Saves the parameters and tests them on the whole test set, unless the last test was of the same
   * parameters.
   *
   * @param file target of the engine's model file, which is written completely or not at all
   * @param tested the evaluator's last test; it is used if it was of these parameters
   * @return completes with the score on the whole test set; fails with the reason when the
   *     parameters could not be read or saved
   */
  public Future<Evaluated> save(Path file, Optional<Evaluated> tested) {
    return save(file, tested, Long.MAX_VALUE);
  }

  /**
   * Saves the parameters and tests them for a limited time.
   *
   * @param file target of the engine's model file, which is written completely or not at all
   * @param tested the evaluator's last test; it is used if it was of these parameters
   * @param limitSeconds time limit of the test; the batch in progress at the limit still counts
   * @return completes with the score on the whole test set, or on the samples tested in time; fails
   *     with the reason when the parameters could not be read or saved
   */
  public Future<Evaluated> save(Path file, Optional<Evaluated> tested, long limitSeconds) {
    return reading(
        (model, test, snapshot) -> {
          save(job, model, test, file);
          return score(model, test, snapshot, tested, limitSeconds);
        });
  }

  /**
   * Returns what a save is doing; it changes while the save makes progress.
   *
   * @return such as {@code reading the parameters}
   */
  public String stage() {
    return stage;
  }

  /**
   * Ends the test of a save early, now or when it comes to it. Any thread may call it.
   *
   * @param seconds how long the test may still go on from now; the batch in progress at the limit
   *     still counts
   */
  public void endTestWithin(long seconds) {
    testEndNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
    endsTest = true;
  }

  /** Saves the parameters without a test. */
  Future<Void> save(Path file) {
    return reading(
        (model, test, snapshot) -> {
          save(job, model, test, file);
          return null;
        });
  }

  /** Copies the parameters, and tests them as {@link #save(Path, Optional, long)} does. */
  Future<TrainedModel> read(Optional<Evaluated> tested, long limitSeconds) {
    return reading(
        (model, test, snapshot) -> {
          float[] parameters = new float[model.layout().length()];
          model.readParameters(0, FloatBuffer.wrap(parameters));
          return new TrainedModel(parameters, score(model, test, snapshot, tested, limitSeconds));
        });
  }

  /** Saves parameters that were read before. Blocks, and needs no member of the job. */
  static void write(JobConfig job, TrainedModel trained, Path file) throws IOException {
    Dataset test = open(job);
    try (Model model = JobModel.of(job, job.data().fitted(test.fitted()), job.modelOn(test))) {
      model.writeParameters(0, FloatBuffer.wrap(trained.parameters()));
      save(job, model, test, file);
    }
  }

  private interface Reading<T> {
    T of(Model model, Dataset test, ParameterSnapshot snapshot) throws IOException;
  }

  /**
   * Reads parameters while it follows membership changes, so that a lost server may come back from
   * its checkpoint.
   */
  private <T> Future<T> reading(Reading<T> action) {
    NewestParameters newest = new NewestParameters(vertx, job, membership);
    return newest
        .listen()
        .compose(listening -> vertx.executeBlocking(() -> read(action, newest), false))
        .recover(FinalModel::explained)
        .eventually(newest::close);
  }

  /** The members that hold the parameters have left, or are too slow: the job's failure. */
  private static <T> Future<T> explained(Throwable why) {
    return Future.failedFuture(
        why instanceof ExchangeException
            ? new JobFailedException("the parameters could not be read: " + why.getMessage(), why)
            : why);
  }

  private <T> T read(Reading<T> action, NewestParameters newest) throws IOException {
    stage = "opening the test set";
    Dataset test = open(job);
    stage = "building the model";
    ModelConfig config = job.modelOn(test);
    try (Model model = JobModel.of(job, job.data().fitted(test.fitted()), config)) {
      stage = "reading the parameters";
      ParameterSnapshot snapshot = newest.reader(config, model).source().pull();
      stage = "saving";
      return action.of(model, test, snapshot);
    }
  }

  private static Dataset open(JobConfig job) {
    return DatasetProvider.open(job.data(), Split.TEST, FinalModel.class.getClassLoader());
  }

  private Evaluated score(
      Model model,
      Dataset test,
      ParameterSnapshot snapshot,
      Optional<Evaluated> tested,
      long limitSeconds) {
    return tested
        .filter(found -> isOf(snapshot, found))
        .map(found -> found.of(snapshot.hash()))
        .orElseGet(() -> test(model, test, snapshot, job.evaluator().topK(), limitSeconds));
  }

  /**
   * Returns true when a test was of these parameters. A test by the stages has no hash; its version
   * decides, because stages move in step.
   */
  private static boolean isOf(ParameterSnapshot snapshot, Evaluated tested) {
    return tested.parametersHash().isEmpty()
        ? snapshot.consistent() && tested.version() == snapshot.lowestVersion()
        : tested.parametersHash().equals(snapshot.hash());
  }

  private static void save(JobConfig job, Model model, Dataset data, Path file) {
    try {
      ModelDescription.of(job, ModelDescription.Input.of(data, model)).save(file, model::save);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "%s: the trained model could not be saved: %s".formatted(file, reason(file, e)), e);
    }
  }

  /**
   * Explains a failure by the folder, which the caller can change; the file that failed has a
   * temporary name.
   */
  private static String reason(Path file, IOException failure) {
    Path folder = file.toAbsolutePath().getParent();
    if (!Files.isDirectory(folder)) {
      return "there is no such folder";
    }
    return Files.isWritable(folder)
        ? String.valueOf(failure.getMessage())
        : "its folder may not be written";
  }

  private Evaluated test(
      Model model, Dataset test, ParameterSnapshot snapshot, int topK, long limitSeconds) {
    long begun = System.nanoTime();
    Score score = Score.NONE;
    for (Batch batch : SequentialBatches.all(test, BATCH)) {
      try {
        score = score.plus(model.score(batch, topK));
      } catch (RuntimeException | Error thrown) {
        throw JobModel.failure(job.model().name(), "the last test", thrown);
      }
      stage = "testing, after %s samples".formatted(score.samples());
      if (endsTest && System.nanoTime() - testEndNanos >= 0
          || TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - begun) >= limitSeconds) {
        break;
      }
    }
    boolean whole = test.size() > 0 && score.samples() == test.size();
    return Evaluated.of(snapshot.lowestVersion(), score, topK, whole, snapshot.hash());
  }
}
