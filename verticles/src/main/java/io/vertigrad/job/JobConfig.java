package io.vertigrad.job;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.TrainingLength.Unit;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * A whole job file, checked: what to train, on what, how updates combine, and where roles run.
 *
 * @param origin the file it came from, for errors
 * @param addresses the job's name and its event-bus addresses
 * @param run which run of the job this is
 * @param seed seed of initial parameters, sample order and generated data
 * @param length how long it trains, as it was asked for; {@link #steps()} is what that comes to
 * @param trainingSamples size of the training set, where it was {@linkplain #counted counted}
 * @param engine name of the compute engine
 * @param model which network
 * @param data which samples
 * @param optimizer how the servers step
 * @param strategy how updates combine
 * @param workers how many, and what each does
 * @param pipeline the stages of a model spread over members; empty where each has all of it
 * @param servers how many
 * @param checkpoint when its state is written, and where
 * @param coordinator what happens when its process ends before the job
 * @param evaluator how often the newest parameters are tested
 * @param stop what ends it before its last step
 * @param exchange how partitions travel
 * @param cluster where members listen and whom they trust
 * @param dashboard the page that shows the run
 * @param tracking which other programs are told of the run
 * @param timeline true when members tell what they did when
 * @param settings the whole file, as it was read
 */
public record JobConfig(
    String origin,
    Addresses addresses,
    RunConfig run,
    long seed,
    TrainingLength length,
    OptionalLong trainingSamples,
    String engine,
    NamedConfig model,
    DataConfig data,
    OptimizerConfig optimizer,
    NamedConfig strategy,
    WorkersConfig workers,
    Optional<PipelineConfig> pipeline,
    ServersConfig servers,
    CheckpointConfig checkpoint,
    StandbyConfig coordinator,
    EvaluatorConfig evaluator,
    StopConfig stop,
    ExchangeConfig exchange,
    ClusterConfig cluster,
    DashboardConfig dashboard,
    TrackingConfig tracking,
    boolean timeline,
    Settings settings) {

  /** Section that a run adds to its job file: what followed from the data. */
  public static final String RESOLVED = "resolved";

  private static final String TRAINING_SAMPLES = "trainingSamples";
  private static final String STEPS = "steps";
  private static final String CLASSES = "classes";
  private static final String PARAMETERS = "parameters";
  private static final String LOSS = "loss";
  private static final long MOST_SAMPLES = 1_000_000_000_000L;

  /**
   * Reads and checks a job file.
   *
   * @param origin how errors name the file
   * @param json its content; it is copied
   * @return the checked job file, its training samples not counted
   * @throws io.vertigrad.compute.settings.SettingsException at the first thing wrong
   */
  public static JobConfig read(String origin, JsonObject json) {
    JsonObject copy = json.copy();
    RenamedKeys.move(origin, copy);
    Settings root = Settings.of(origin, copy);
    Optional<PipelineConfig> pipeline = PipelineConfig.read(root.section("pipeline"));
    EvaluatorConfig evaluator = EvaluatorConfig.read(root.section("evaluator"));
    JobConfig job =
        new JobConfig(
            origin,
            addresses(root),
            RunConfig.read(root.section("run")),
            root.longInteger("seed", 0, 0, Long.MAX_VALUE),
            TrainingLength.read(root),
            counted(root.section(RESOLVED)),
            root.string("engine", Engine.usual()),
            model(root.section("model")),
            data(origin, root.section("data")),
            optimizer(root.section("optimizer")),
            NamedConfig.read(root.section("strategy"), pipeline.isEmpty() ? "sync" : "allreduce"),
            WorkersConfig.read(root.section("workers"), pipeline),
            pipeline,
            ServersConfig.read(root.section("servers")),
            CheckpointConfig.read(root.section("checkpoint")),
            StandbyConfig.read(root.section("coordinator")),
            evaluator,
            StopConfig.read(root.section("stop"), evaluator),
            ExchangeConfig.read(root.section("exchange")),
            ClusterConfig.read(root.section("cluster")),
            DashboardConfig.read(root.section("dashboard")),
            TrackingConfig.read(root.section("tracking")),
            root.flag("timeline", false),
            root);
    root.refuseUnknown();
    checkLoss(job, root);
    pipeline.ifPresent(stages -> checkPipeline(job, root));
    if (job.exchange().overlap()) {
      checkOverlap(job, root);
    }
    if (job.stepsAreKnown() && stepsOf(job) < 1) {
      throw root.refuse(
          job.length.unit().key(),
          "is %d, expected at least %d: one step for each worker"
              .formatted((long) job.length.amount(), job.replicas()));
    }
    return job;
  }

  private static long stepsOf(JobConfig job) {
    try {
      return job.steps();
    } catch (IllegalArgumentException noBatch) {
      throw new SettingsException(job.origin + ": " + noBatch.getMessage(), noBatch);
    }
  }

  /**
   * Returns the steps of each worker: rounds of a synchronous strategy; an asynchronous one makes
   * {@code steps * workers} updates.
   *
   * @return steps, at least 1
   * @throws IllegalStateException when they follow from the data, which was not {@linkplain
   *     #counted counted}
   */
  public long steps() {
    if (!stepsAreKnown()) {
      throw new IllegalStateException(
          "%s: %s, but the training samples were not counted".formatted(origin, length));
    }
    return length.steps(workers, replicas(), trainingSamples.orElse(0));
  }

  /**
   * Returns how many passes over the training set it makes; where its length is in steps, every
   * batch counts as a full one.
   *
   * @return passes, with a fraction
   * @throws IllegalStateException when the training samples were not {@linkplain #counted counted}
   */
  public double epochs() {
    return length.epochs(steps(), workers, replicas(), countedSamples());
  }

  /**
   * Returns how parameters follow gradients, with a schedule that knows how long the run is where
   * the training samples were {@linkplain #counted counted}.
   *
   * @return the optimizer's settings
   */
  @Override
  public OptimizerConfig optimizer() {
    return trainingSamples.isPresent() ? optimizer.over(epochs()) : optimizer;
  }

  /**
   * Returns the steps of each worker that make one epoch, as {@link TrainingLength} counts them.
   *
   * @return steps, with a fraction where several workers that shuffle the whole set share a pass
   *     unevenly
   * @throws IllegalStateException when the training samples were not {@linkplain #counted counted}
   */
  public double stepsPerEpoch() {
    return stepsPerEpoch(countedSamples());
  }

  /**
   * Returns the same for a training set of another size.
   *
   * @param samples size of the training set
   * @return steps, with a fraction likewise
   */
  public double stepsPerEpoch(long samples) {
    return (double) workers.batches(samples, replicas()) / (workers.sharesData() ? 1 : replicas());
  }

  /**
   * Returns where its learning-rate schedule and its length do not fit, one sentence each: which
   * key, what was found, what it means, and what to do.
   *
   * @param updates of the whole run
   * @return empty when all fits, or where the training samples were not {@linkplain #counted
   *     counted}
   */
  public List<String> warnings(long updates) {
    return ScheduleCheck.warnings(this, updates);
  }

  /**
   * Tells whether it can be trained as it is.
   *
   * @return false while something follows from the training samples, which were not counted
   */
  public boolean isCounted() {
    return trainingSamples.isPresent() || !needsSamples();
  }

  /**
   * Returns the same job with its training samples counted, if anything about it follows from their
   * number or can be checked with it, and with the names of its classes. Whatever number the file
   * held is forgotten, for the data may be another. It blocks while the training set is opened.
   *
   * @param loader finds the data set
   * @return the job, with which every member comes to the same length
   * @throws io.vertigrad.compute.data.DataException when the data set cannot be opened
   */
  public JobConfig counted(ClassLoader loader) {
    JsonObject json = json();
    JsonObject resolved = new JsonObject();
    if (needsSamples() || optimizer.schedule().isFinite()) {
      resolved.put(TRAINING_SAMPLES, DatasetProvider.samples(data, Split.TRAIN, loader));
    }
    List<String> names = DatasetProvider.classNames(data, loader);
    if (!names.isEmpty()) {
      resolved.put(CLASSES, new JsonArray(names));
    }
    json.put(RESOLVED, resolved);
    return read(origin, json);
  }

  /**
   * Returns what people call the classes, where the data set has names and was {@linkplain #counted
   * counted}.
   *
   * @return by class; empty where a class is only a number
   */
  public List<String> classNames() {
    JsonObject resolved = settings.toJson().getJsonObject(RESOLVED, new JsonObject());
    return resolved.getJsonArray(CLASSES, new JsonArray()).stream().map(String::valueOf).toList();
  }

  /**
   * Returns how many copies of the model train.
   *
   * @return as many as workers, or as each stage of a pipeline has
   */
  public int replicas() {
    return pipeline.map(PipelineConfig::replicas).orElse(workers.count());
  }

  /**
   * Returns the resolved job file: what was written, the defaults of the keys that were not, and in
   * {@code resolved} what followed from the data.
   *
   * @return a copy, which the caller may change
   */
  public JsonObject json() {
    JsonObject json = settings.resolved();
    json.remove(RESOLVED);
    JsonObject resolved = new JsonObject();
    if (stepsAreKnown() && (trainingSamples.isPresent() || length.unit() != Unit.STEPS)) {
      resolved.put(STEPS, steps());
      trainingSamples.ifPresent(samples -> resolved.put(TRAINING_SAMPLES, samples));
    }
    List<String> names = classNames();
    if (!names.isEmpty()) {
      resolved.put(CLASSES, new JsonArray(names));
    }
    if (!resolved.isEmpty()) {
      json.put(RESOLVED, resolved);
    }
    return json;
  }

  /**
   * Returns the model that this job trains on samples of a data set.
   *
   * @param data the training or the test set; its shape and classes count
   * @return what an engine builds the model from
   * @throws io.vertigrad.compute.settings.SettingsException when {@code evaluator.topK} counts all
   *     of its classes
   */
  public ModelConfig modelOn(Dataset data) {
    return modelOn(data.shape(), data.targets(), data.tokens());
  }

  /**
   * Returns the model that this job trains on samples of a shape, of which each has one class.
   *
   * @param shape one sample's dimensions, channels first
   * @param classes number of classes
   * @return what an engine builds the model from
   * @throws io.vertigrad.compute.settings.SettingsException when {@code evaluator.topK} counts all
   *     of its classes
   */
  public ModelConfig modelOn(List<Integer> shape, int classes) {
    return modelOn(shape, Targets.classes(classes), 0);
  }

  /**
   * Returns the model that this job trains on samples of a shape.
   *
   * @param shape one sample's dimensions, channels first
   * @param targets what it is to tell of each
   * @param tokens how many different ids of tokens the samples hold; 0 for numbers
   * @return what an engine builds the model from
   * @throws io.vertigrad.compute.settings.SettingsException when {@code evaluator.topK} counts all
   *     of its classes, or {@code model.loss} takes other targets
   */
  public ModelConfig modelOn(List<Integer> shape, Targets targets, int tokens) {
    Map<String, Object> options = new TreeMap<>(model.settings().toJson().getMap());
    options.keySet().removeAll(List.of("name", PARAMETERS, LOSS));
    ModelConfig unnamed = modelIn("", shape, targets, tokens);
    return unnamed.named(modelName(), options);
  }

  /**
   * Returns the model that this job trained, in a file; {@code model.name} does not count.
   *
   * @param file of the engine
   * @param shape one sample's dimensions, channels first
   * @param targets what it is to tell of each
   * @param tokens how many different ids of tokens the samples hold; 0 for numbers
   * @return what an engine reads the model by
   * @throws io.vertigrad.compute.settings.SettingsException as {@link #modelOn(List, Targets, int)}
   */
  public ModelConfig modelIn(String file, List<Integer> shape, Targets targets, int tokens) {
    requireLossOf(targets.kind());
    if (evaluator.topK() >= targets.outputs()) {
      throw settings.refuse(
          "evaluator.topK",
          "is %d, expected less than the %d classes of the data: every sample would count"
              .formatted(evaluator.topK(), targets.outputs()));
    }
    return new ModelConfig(
        file,
        Map.of(),
        shape,
        targets.outputs(),
        seed,
        workers.threads(),
        loss(),
        targets.positions(),
        tokens);
  }

  /**
   * Checks that the model's loss takes what the data set's samples have, before anything is built.
   * It blocks where the data set has to be opened to know that.
   *
   * @param split that is there to be opened
   * @param loader finds the data set
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the loss, what the
   *     data have and which loss takes that
   * @throws io.vertigrad.compute.data.DataException when the data set cannot be opened
   */
  public void checkTargets(Split split, ClassLoader loader) {
    requireLossOf(DatasetProvider.targets(data, split, loader));
  }

  private void requireLossOf(Targets.Kind found) {
    if (loss().targets() != found) {
      throw settings.refuse(
          "model.loss",
          "is %s, which takes %s as targets, but the data set '%s' has %s; expected %s, or other data"
              .formatted(
                  loss().key(),
                  loss().targets().text(),
                  data.name(),
                  found.text(),
                  Loss.of(found).key()));
    }
  }

  /**
   * Returns what its model is trained and tested by.
   *
   * @return the loss
   */
  public Loss loss() {
    String key = model.settings().toJson().getString(LOSS);
    return key == null ? Loss.CROSS_ENTROPY : Loss.of(key);
  }

  /**
   * Checks the names of engine and model, and the model's options, before anything is built.
   *
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the key, what was
   *     found and what was expected
   */
  public void checkModel() {
    Engine found;
    try {
      found = Engine.named(engine);
    } catch (IllegalArgumentException unknown) {
      throw settings.refuse("engine", "is wrong: " + unknown.getMessage());
    }
    found.check(modelName(), model.settings());
  }

  /**
   * Checks that its engine can compute on this machine where workers are to, before anything is
   * built; whoever is neither worker nor evaluator needs no such device.
   *
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the device, why it
   *     cannot be, and what to do
   */
  public void checkDevice() {
    try {
      Engine.named(engine).checkDevice(workers.device());
    } catch (IllegalArgumentException missing) {
      throw settings.refuse(
          "workers.device", "is %s, but %s".formatted(workers.device(), missing.getMessage()));
    }
  }

  /**
   * Returns the file with the parameters that training begins with.
   *
   * @return a safetensors file; empty where they follow from the seed, or from a model in a file
   */
  public Optional<Path> initialParameters() {
    return Optional.ofNullable(model.settings().toJson().getString(PARAMETERS)).map(Path::of);
  }

  /** The name, or where it is the folder of a run, the model that the run has left there. */
  private String modelName() {
    return RunModel.named(model.name(), engine, settings);
  }

  /**
   * Returns what a member is called for people.
   *
   * @param role the role in lower case, such as {@code worker}
   * @param rank the member's rank
   * @return such as {@code worker 1}, or {@code stage 1} where workers are stages
   */
  public String nameOf(String role, int rank) {
    return pipeline
        .filter(stages -> role.equals("worker"))
        .map(stages -> stages.name(rank))
        .orElseGet(() -> role + " " + rank);
  }

  /**
   * Tells who tests the model.
   *
   * @return true when the stages of its pipeline test it themselves
   */
  public boolean stagesTest() {
    return evaluator.count() > 0
        && pipeline.filter(stages -> stages.evaluation().equals("stages")).isPresent();
  }

  /**
   * Returns how many evaluators take part.
   *
   * @return 0 where nobody tests, or the stages do
   */
  public int evaluators() {
    return stagesTest() ? 0 : evaluator.count();
  }

  private boolean stepsAreKnown() {
    return trainingSamples.isPresent() || !length.countsSamples();
  }

  private boolean needsSamples() {
    return length.countsSamples()
        || evaluator.everyEpochs() > 0
        || optimizer.schedule().needsRunLength();
  }

  private long countedSamples() {
    return trainingSamples.orElseThrow(
        () -> new IllegalStateException(origin + ": the training samples were not counted"));
  }

  /** The steps are there for whoever reads the file; they follow from the rest. */
  private static OptionalLong counted(Settings resolved) {
    boolean counted = resolved.has(TRAINING_SAMPLES);
    long samples = resolved.longInteger(TRAINING_SAMPLES, 0, 1, MOST_SAMPLES);
    resolved.longInteger(STEPS, 0, 1, Long.MAX_VALUE);
    resolved.textList(CLASSES, List.of());
    resolved.refuseUnknown();
    return counted ? OptionalLong.of(samples) : OptionalLong.empty();
  }

  /** What needs the whole gradient before anything of it may be sent. */
  private static void checkOverlap(JobConfig job, Settings root) {
    if (job.optimizer().clipNorm() > 0) {
      throw root.refuse(
          "exchange.overlap",
          "is true, expected false with optimizer.clipNorm %s: a gradient's norm is known once all of"
                  .formatted(job.optimizer().clipNorm())
              + " it is computed, and nothing is sent before; set one of them to its default");
    }
    if (job.pipeline().isPresent()) {
      throw root.refuse(
          "exchange.overlap",
          "is true, expected false with a pipeline: a stage's gradient is complete when its last"
              + " micro-batch has gone through");
    }
  }

  /** What only makes sense where tests have a class for each answer. */
  private static void checkLoss(JobConfig job, Settings root) {
    Loss loss = job.loss();
    if (job.stop().accuracy().isPresent() && loss == Loss.MEAN_SQUARED_ERROR) {
      throw root.refuse(
          "stop.accuracy",
          "is given, but model.loss is %s, whose tests have no accuracy; expected stop.loss, the square of an RMSE, or stop.minutes"
              .formatted(loss.key()));
    }
    if (job.evaluator().topK() > 0 && loss != Loss.CROSS_ENTROPY) {
      throw root.refuse(
          "evaluator.topK",
          "is %d, but model.loss is %s, which knows no most probable classes; expected 0"
              .formatted(job.evaluator().topK(), loss.key()));
    }
  }

  private static void checkPipeline(JobConfig job, Settings root) {
    if (job.optimizer().clipNorm() > 0) {
      throw root.refuse(
          "optimizer.clipNorm",
          "cannot be used with a pipeline: no stage knows the whole gradient");
    }
    if (job.evaluator().blocking()) {
      throw root.refuse(
          "evaluator.blocking",
          "is true, expected false with a pipeline: its stages test between two steps anyway"
              + " (pipeline.evaluation \"stages\")");
    }
  }

  private static Addresses addresses(Settings root) {
    try {
      return new Addresses(root.string("job", "vertigrad"));
    } catch (IllegalArgumentException e) {
      throw root.refuse("job", "is not usable: " + e.getMessage());
    }
  }

  private static NamedConfig model(Settings section) {
    NamedConfig model = NamedConfig.read(section, "convnet");
    section.path(PARAMETERS);
    section.choice(LOSS, Loss.CROSS_ENTROPY.key(), Loss.keys());
    return model;
  }

  private static OptimizerConfig optimizer(Settings section) {
    OptimizerConfig config = OptimizerConfig.read(section);
    section.refuseUnknown();
    return config;
  }

  private static DataConfig data(String origin, Settings section) {
    Map<String, Object> options = section.toJson().getMap();
    String name = section.string("name", "digits");
    Optional<Path> directory = section.path("directory");
    Optional<URI> download = section.address("download");
    Map<String, Object> rest = new TreeMap<>(options);
    rest.keySet().removeAll(List.of("name", "directory", "download"));
    return new DataConfig(name, directory, download, rest, origin);
  }
}
