package io.vertigrad.training;

import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.settings.FailureReason;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;

/**
 * A training job that an application deploys in its own Vert.x, without the command line.
 *
 * <pre>{@code
 * TrainingJob.of(Path.of("job.json"))
 *     .deploy(vertx)
 *     .compose(RunningJob::result)
 *     .onSuccess(result -> System.out.println(result.accuracy()));
 * }</pre>
 *
 * <p>A job is immutable. You may deploy it again after an earlier deployment has ended.
 */
public final class TrainingJob {

  private static final ClassLoader LOADER = TrainingJob.class.getClassLoader();

  private final Function<Vertx, Future<JobConfig>> source;
  private final Optional<LocalMembers> here;

  private TrainingJob(Function<Vertx, Future<JobConfig>> source, Optional<LocalMembers> here) {
    this.source = source;
    this.here = here;
  }

  /**
   * Creates a job from a configuration that was read before.
   *
   * @param config the checked job file
   * @return the job, not deployed
   */
  public static TrainingJob of(JobConfig config) {
    return new TrainingJob(vertx -> Future.succeededFuture(config), Optional.empty());
  }

  /**
   * Creates a job from the content of a job file; {@code conf/README.md} lists the keys. Errors
   * call the file {@code job}.
   *
   * @param json the content of a job file; it is copied
   * @return the job, not deployed
   * @throws SettingsException at the first key that is unknown or out of range
   */
  public static TrainingJob of(JsonObject json) {
    return of(JobConfig.read("job", json));
  }

  /**
   * Creates a job from a job file in JSON. The file is read each time that the job is deployed; if
   * it is missing or wrong, that deployment fails.
   *
   * @param file path of the file
   * @return the job, not deployed
   */
  public static TrainingJob of(Path file) {
    return new TrainingJob(vertx -> read(vertx, file), Optional.empty());
  }

  /**
   * Starts only some of the members in this JVM; the others join over the cluster, for example with
   * {@code vertigrad node}. Without this call all members are started in this JVM.
   *
   * @param members how many of each role this JVM starts
   * @return the same job with these members
   */
  public TrainingJob here(LocalMembers members) {
    return new TrainingJob(source, Optional.of(members));
  }

  /**
   * Deploys the coordinator and the members, each as a verticle of its own. It never blocks: worker
   * threads read the job file and look for the data sets, and models compute on threads of their
   * own. If you call it inside a verticle, the job is undeployed together with that verticle.
   *
   * @param vertx the Vert.x that runs them; clustered if members join from elsewhere
   * @return completes when all members of this JVM are admitted; fails with a {@link
   *     SettingsException} for a wrong job file, with a {@link
   *     io.vertigrad.compute.data.DataException} for missing data, and with a {@link
   *     JobFailedException} when this Vert.x runs a job of that name or a member could not start.
   *     After a failure nothing stays deployed
   */
  public Future<RunningJob> deploy(Vertx vertx) {
    return source
        .apply(vertx)
        .compose(config -> vertx.executeBlocking(() -> checked(config), false))
        .compose(config -> deploy(vertx, config));
  }

  private Future<RunningJob> deploy(Vertx vertx, JobConfig config) {
    JobVerticle verticle = new JobVerticle(config, here.orElseGet(() -> LocalMembers.of(config)));
    return vertx
        .deployVerticle(verticle)
        .compose(id -> verticle.begin())
        .map(begun -> new RunningJob(vertx, config, verticle));
  }

  /** Checks the model, the device and the data before anything is deployed. Blocks. */
  private JobConfig checked(JobConfig asked) {
    StrategyProviders.configure(asked, LOADER);
    asked.checkModel();
    here.orElseGet(() -> LocalMembers.of(asked)).checkDevice(asked);
    JobConfig counted = asked.counted(LOADER);
    DatasetProvider.check(counted.data(), Split.TRAIN, LOADER);
    DatasetProvider.check(counted.data(), Split.TEST, LOADER);
    counted.checkTargets(Split.TEST, LOADER);
    return PipelinePlan.of(counted).job();
  }

  private static Future<JobConfig> read(Vertx vertx, Path file) {
    return vertx
        .fileSystem()
        .readFile(file.toString())
        .recover(
            failure ->
                Future.failedFuture(
                    new SettingsException(
                        "%s: expected a job file that can be read: %s"
                            .formatted(file, reason(failure)),
                        failure)))
        .map(
            bytes -> {
              String origin = file.toString();
              String text = JsonText.decode(origin, bytes.getBytes());
              return JobConfig.read(origin, JsonText.object(origin, text));
            });
  }

  /** Returns the operating system's message, which is in the cause. */
  private static String reason(Throwable failure) {
    return FailureReason.of(failure.getCause() == null ? failure : failure.getCause());
  }
}
