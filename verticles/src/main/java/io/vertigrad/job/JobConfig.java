package io.vertigrad.job;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import io.vertigrad.compute.data.StreamRounds;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;

/**
 * A complete, checked job file: what to train, on which data, how updates combine, and where roles
 * run.
 *
 * @param origin the file it came from, for error messages
 * @param addresses the job's name and its event-bus addresses
 * @param run which run of the job this is
 * @param seed seed of initial parameters, sample order and generated data
 * @param length training length as configured; {@link #steps()} returns the steps it amounts to
 * @param trainingSamples size of the training set, if it was {@linkplain #counted counted}
 * @param engine name of the compute engine
 * @param model the network
 * @param data the data set
 * @param optimizer how parameters follow gradients
 * @param strategy how updates combine
 * @param workers number and settings of the workers
 * @param pipeline the stages of a model spread over members; empty if each member has the whole
 *     model
 * @param servers number of servers
 * @param checkpoint when and where the job's state is written
 * @param coordinator what happens if the coordinator's process ends before the job
 * @param evaluator how often the newest parameters are tested
 * @param stop what ends the job before its last step
 * @param exchange how partitions are exchanged
 * @param cluster where members listen and how they authenticate each other
 * @param dashboard the web page that shows the run
 * @param tracking other programs that receive the run's progress
 * @param serving the predictors that answer with the newest parameters
 * @param timeline true if members record a timeline of their work
 * @param settings the whole file as it was read
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
    ServingConfig serving,
    boolean timeline,
    Settings settings) {

  /** Section that a run adds to its job file: values that follow from the data. */
  public static final String RESOLVED = "resolved";

  /** The key of a job's engine, and in a run's summary of what computed it. */
  public static final String ENGINE = "engine";

  private static final String TRAINING_SAMPLES = "trainingSamples";
  private static final String DATA_LENGTH = "dataLength";
  private static final String CLASSES = "classes";
  private static final String FINGERPRINTS = "fingerprints";
  private static final String PARAMETERS = "parameters";
  private static final String LOSS = "loss";
  private static final String PRECISION = "precision";
  private static final long MOST_SAMPLES = 1_000_000_000_000L;

  /**
   * Reads and checks a job file.
   *
   * @param origin how errors name the file
   * @param json its content; it is copied
   * @return the checked job file, whose training samples are not counted
   * @throws io.vertigrad.compute.settings.SettingsException at the first error
   */
  public static JobConfig read(String origin, JsonObject json) {
    JsonObject copy = json.copy();
    addDefaultsOfData(copy);
    Settings root = Settings.of(origin, copy);
    Settings agreed = root.with(KeyTrait.AGREED);
    Settings changeable = root.with(KeyTrait.CHANGEABLE);
    Settings used = root.with(KeyTrait.CHANGEABLE, KeyTrait.OPERATION);
    Settings seen = root.with(KeyTrait.CHANGEABLE, KeyTrait.OPERATION, KeyTrait.NAMED_IN_ERRORS);
    Optional<PipelineConfig> pipeline = PipelineConfig.read(agreed.section("pipeline"));
    EvaluatorConfig evaluator = EvaluatorConfig.read(root.section("evaluator"));
    JobConfig job =
        new JobConfig(
            origin,
            addresses(root.with(KeyTrait.AGREED, KeyTrait.OPERATION)),
            RunConfig.read(root.with(KeyTrait.OF_RUN).section("run")),
            root.with(KeyTrait.AGREED, KeyTrait.NAMED_IN_ERRORS)
                .longInteger("seed", 0, 0, Long.MAX_VALUE),
            TrainingLength.read(root),
            counted(root.with(KeyTrait.OF_RUN).section(RESOLVED)),
            root.string(ENGINE, Engine.usual()),
            model(agreed.section("model")),
            data(origin, agreed.section("data")),
            optimizer(agreed.section("optimizer")),
            NamedConfig.read(agreed.section("strategy"), pipeline.isEmpty() ? "sync" : "allreduce"),
            WorkersConfig.read(root.section("workers"), pipeline),
            pipeline,
            ServersConfig.read(root.section("servers")),
            CheckpointConfig.read(changeable.section("checkpoint")),
            StandbyConfig.read(changeable.section("coordinator")),
            evaluator,
            StopConfig.read(changeable.section("stop"), evaluator),
            ExchangeConfig.read(root.section("exchange")),
            ClusterConfig.read(seen.section("cluster")),
            DashboardConfig.read(seen.section("dashboard")),
            TrackingConfig.read(used.section("tracking")),
            ServingConfig.read(used.section("serving")),
            seen.flag("timeline", false),
            root);
    root.refuseUnknown();
    // Members may have different engines if their models' layouts are equal, which joins check.
    if (!job.optimizer.isEngineIndependent()) {
      agreed.has(ENGINE);
    }
    // Members need to agree on tests only if they test together, or training waits for tests.
    if (job.stagesTest() || evaluator.blocking()) {
      EvaluatorConfig.read(agreed.section("evaluator"));
    }
    checkLoss(job, root);
    pipeline.ifPresent(stages -> checkPipeline(job, root));
    if (job.exchange().overlap()) {
      checkOverlap(job, root);
    }
    if (job.workers().balancesSpeed()) {
      checkBalance(job, root);
    }
    if (job.workers().ownSamples()) {
      checkOwnSamples(job, root);
    }
    if (job.stepsAreKnown() && stepsOf(job) < 1) {
      throw root.refuse(
          job.length.unit().key(),
          "is %s, expected at least %s: one step for each worker"
              .formatted((long) job.length.amount(), job.replicas()));
    }
    return job;
  }

  /**
   * Adds the values that the data set chooses. A section of the file that names its kind keeps its
   * own defaults: an optimizer with a name is not changed.
   */
  private static void addDefaultsOfData(JsonObject file) {
    Object data = file.getValue("data");
    if (data instanceof JsonObject section && section.getValue("name") instanceof String name) {
      JsonObject chosen = DatasetProvider.defaults(name, file, JobConfig.class.getClassLoader());
      for (String key : chosen.fieldNames()) {
        Object found = file.getValue(key);
        if (found == null) {
          file.put(key, chosen.getJsonObject(key).copy());
        } else if (found instanceof JsonObject given && given.getValue("name") == null) {
          file.put(key, chosen.getJsonObject(key).copy().mergeIn(given));
        }
      }
    }
  }

  private static long stepsOf(JobConfig job) {
    try {
      return job.steps();
    } catch (IllegalArgumentException noBatch) {
      throw new SettingsException(job.origin + ": " + noBatch.getMessage(), noBatch);
    }
  }

  /**
   * Returns the steps of each worker. These are rounds of a synchronous strategy; an asynchronous
   * one makes {@code steps * workers} updates.
   *
   * @return steps, at least 1
   * @throws IllegalStateException if they depend on the data, which was not {@linkplain #counted
   *     counted}
   */
  public long steps() {
    if (!stepsAreKnown()) {
      throw new IllegalStateException(
          "%s: %s, but the training samples were not counted".formatted(origin, length));
    }
    long steps = length.steps(workers, replicas(), trainingSamples.orElse(0));
    OptionalLong end = dataLength();
    return end.isPresent()
        ? Math.min(steps, new StreamRounds(end.getAsLong(), replicas(), workers.batch()).rounds())
        : steps;
  }

  /**
   * Returns the number of samples after which the data end, if they are read only once and were
   * {@linkplain #counted counted}.
   *
   * @return empty if the data do not end
   */
  public OptionalLong dataLength() {
    Long found = settings.toJson().getJsonObject(RESOLVED, new JsonObject()).getLong(DATA_LENGTH);
    return found == null ? OptionalLong.empty() : OptionalLong.of(found);
  }

  /**
   * Returns whether the job trains until it is stopped.
   *
   * @return false if it has a number of steps, or its data end
   */
  public boolean endless() {
    return length.unit() == TrainingLength.Unit.UNBOUNDED && dataLength().isEmpty();
  }

  /**
   * Returns the number of passes over the training set. If the length is in steps, every batch
   * counts as a full one.
   *
   * @return passes, with a fraction
   * @throws IllegalStateException if the training samples were not {@linkplain #counted counted}
   */
  public double epochs() {
    return length.epochs(steps(), workers, replicas(), countedSamples());
  }

  /**
   * Returns the optimizer's settings. If the training samples were {@linkplain #counted counted},
   * the schedule has the length of the run.
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
   * @return steps, with a fraction if several workers that shuffle the whole set share a pass
   *     unevenly
   * @throws IllegalStateException if the training samples were not {@linkplain #counted counted}
   */
  public double stepsPerEpoch() {
    return stepsPerEpoch(countedSamples());
  }

  /**
   * Returns the steps of each worker that make one epoch of a training set of the given size.
   *
   * @param samples size of the training set
   * @return steps, with a fraction as in {@link #stepsPerEpoch()}
   */
  public double stepsPerEpoch(long samples) {
    return (double) workers.batches(samples, replicas()) / (workers.sharesData() ? 1 : replicas());
  }

  /**
   * Returns warnings if the learning-rate schedule and the run's length do not fit. Each is one
   * sentence: the key, the value found, its effect, and what to do.
   *
   * @param updates updates of the whole run
   * @return empty if all fits, or if the training samples were not {@linkplain #counted counted}
   */
  public List<String> warnings(long updates) {
    return ScheduleCheck.warnings(this, updates);
  }

  /**
   * Returns whether the job can be trained as it is.
   *
   * @return false if something depends on the training samples, which were not counted
   */
  public boolean isCounted() {
    return trainingSamples.isPresent() || !needsSamples() && !endless();
  }

  /**
   * Returns the same job with the names of its classes. Its training samples are counted if any
   * value depends on their number or can be checked with it. A number in the file is ignored,
   * because the data may have changed. Blocks while the training set is opened.
   *
   * @param loader finds the data set
   * @return the job, which gives every member the same length
   * @throws io.vertigrad.compute.data.DataException if the data set cannot be opened
   */
  public JobConfig counted(ClassLoader loader) {
    JsonObject json = json();
    JsonObject resolved = new JsonObject();
    if (needsSamples() || optimizer.schedule().countsEpochs()) {
      resolved.put(TRAINING_SAMPLES, DatasetProvider.samples(data, Split.TRAIN, loader));
    }
    DatasetProvider.length(data, loader).ifPresent(end -> resolved.put(DATA_LENGTH, end));
    List<String> names = DatasetProvider.classNames(data, loader);
    if (!names.isEmpty()) {
      resolved.put(CLASSES, new JsonArray(names));
    }
    json.put(RESOLVED, resolved);
    return read(origin, json);
  }

  /**
   * Returns the names of the classes, if the data set has names and was {@linkplain #counted
   * counted}.
   *
   * @return names by class; empty if classes are only numbers
   */
  public List<String> classNames() {
    JsonObject resolved = settings.toJson().getJsonObject(RESOLVED, new JsonObject());
    return resolved.getJsonArray(CLASSES, new JsonArray()).stream().map(String::valueOf).toList();
  }

  /**
   * Returns the fingerprints of the data and the model file that this job trains with, by what they
   * are of: {@code trainingData}, {@code testData}, {@code model} or {@code parameters}. Of
   * training data that each node has of its own, it is that of their form. Blocks while a split is
   * opened that is not in use.
   *
   * @param splits the splits that a member reads
   * @param loader finds the data set
   * @return those of the splits and of existing files
   * @throws io.vertigrad.compute.data.DataException if data or a file cannot be read
   */
  public Map<String, DataFingerprint> fingerprints(Set<Split> splits, ClassLoader loader) {
    Map<String, DataFingerprint> found = new TreeMap<>();
    for (Split split : splits) {
      boolean form = split == Split.TRAIN && workers.ownData();
      (form
              ? Optional.of(DataFingerprint.ofForm(DatasetProvider.open(data, split, loader)))
              : DatasetProvider.fingerprint(data, split, loader))
          .ifPresent(made -> found.put(split.fingerprint(), made));
    }
    modelFile().ifPresent(file -> found.put("model", DataFingerprint.of(file)));
    initialParameters()
        .filter(Files::isRegularFile)
        .ifPresent(file -> found.put(PARAMETERS, DataFingerprint.of(file)));
    return found;
  }

  private Optional<Path> modelFile() {
    try {
      return Optional.of(Path.of(modelName())).filter(Files::isRegularFile);
    } catch (InvalidPathException noPath) {
      return Optional.empty();
    }
  }

  /**
   * Returns the fingerprints that all members must have, as far as they are known.
   *
   * @return fingerprints as of {@link #fingerprints(Set, ClassLoader)}; empty in a job file
   */
  public Map<String, DataFingerprint> fingerprints() {
    JsonObject json = settings.toJson().getJsonObject(RESOLVED, new JsonObject());
    return DataFingerprint.all(json.getJsonObject(FINGERPRINTS, new JsonObject()));
  }

  /**
   * Returns the same job, whose members must have data and model files of these fingerprints.
   *
   * @param known fingerprints as of {@link #fingerprints(Set, ClassLoader)}
   * @return a job in which they stand in {@code resolved}
   */
  public JobConfig withFingerprints(Map<String, DataFingerprint> known) {
    JsonObject json = json();
    JsonObject resolved = json.getJsonObject(RESOLVED, new JsonObject());
    json.put(RESOLVED, resolved.put(FINGERPRINTS, DataFingerprint.json(known)));
    return read(origin, json);
  }

  /**
   * Returns the number of copies of the model that train.
   *
   * @return the number of workers, or of replicas of each stage of a pipeline
   */
  public int replicas() {
    return pipeline.map(PipelineConfig::replicas).orElse(workers.count());
  }

  /**
   * Returns the resolved job file: the values that were written, the defaults of all other keys,
   * and in {@code resolved} the values that follow from the data.
   *
   * @return a copy, which the caller may change
   */
  public JsonObject json() {
    JsonObject json = settings.resolved();
    json.remove(RESOLVED);
    JsonObject resolved = new JsonObject();
    dataLength().ifPresent(end -> resolved.put(DATA_LENGTH, end));
    if (!endless()) {
      trainingSamples.ifPresent(samples -> resolved.put(TRAINING_SAMPLES, samples));
    }
    List<String> names = classNames();
    if (!names.isEmpty()) {
      resolved.put(CLASSES, new JsonArray(names));
    }
    Map<String, DataFingerprint> fingerprints = fingerprints();
    if (!fingerprints.isEmpty()) {
      resolved.put(FINGERPRINTS, DataFingerprint.json(fingerprints));
    }
    if (!resolved.isEmpty()) {
      json.put(RESOLVED, resolved);
    }
    return json;
  }

  /**
   * Returns the model that this job trains on samples of a data set.
   *
   * @param data the training or the test set; only its shape and classes matter
   * @return the configuration from which an engine builds the model
   * @throws io.vertigrad.compute.settings.SettingsException if {@code evaluator.topK} covers all of
   *     its classes
   */
  public ModelConfig modelOn(Dataset data) {
    return modelOn(data.shape(), data.targets(), data.tokens());
  }

  /**
   * Returns the model that this job trains on samples of a shape with one class each.
   *
   * @param shape one sample's dimensions, channels first
   * @param classes number of classes
   * @return the configuration from which an engine builds the model
   * @throws io.vertigrad.compute.settings.SettingsException if {@code evaluator.topK} covers all of
   *     its classes
   */
  public ModelConfig modelOn(List<Integer> shape, int classes) {
    return modelOn(shape, Targets.classes(classes), 0);
  }

  /**
   * Returns the model that this job trains on samples of a shape.
   *
   * @param shape one sample's dimensions, channels first
   * @param targets what the model predicts for each sample
   * @param tokens number of different token ids in the samples; 0 for samples of numbers
   * @return the configuration from which an engine builds the model
   * @throws io.vertigrad.compute.settings.SettingsException if {@code evaluator.topK} covers all of
   *     its classes, {@code model.loss} takes other targets, or the engine does not compute in
   *     {@code model.precision}
   */
  public ModelConfig modelOn(List<Integer> shape, Targets targets, int tokens) {
    Map<String, Object> options = new TreeMap<>(model.settings().toJson().getMap());
    options.keySet().removeAll(List.of("name", PARAMETERS, LOSS, PRECISION));
    ModelConfig unnamed = modelIn("", shape, targets, tokens);
    return unnamed.named(modelName(), options);
  }

  /**
   * Returns the model that this job trained, in a file; {@code model.name} is ignored.
   *
   * @param file the engine's model file
   * @param shape one sample's dimensions, channels first
   * @param targets what the model predicts for each sample
   * @param tokens number of different token ids in the samples; 0 for samples of numbers
   * @return the configuration with which an engine reads the model
   * @throws io.vertigrad.compute.settings.SettingsException as {@link #modelOn(List, Targets, int)}
   */
  public ModelConfig modelIn(String file, List<Integer> shape, Targets targets, int tokens) {
    requireLossOf(targets.kind());
    requirePrecision();
    if (evaluator.topK() >= targets.outputs()) {
      throw settings.refuse(
          "evaluator.topK",
          "is %s, expected less than the %s classes of the data: every sample would count"
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
            tokens)
        .in(precision());
  }

  /**
   * Checks that the model's loss fits the targets of the data set, before anything is built. Blocks
   * if the data set has to be opened for that.
   *
   * @param split the split that may be opened
   * @param loader finds the data set
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the loss, the targets
   *     of the data and the loss that takes them
   * @throws io.vertigrad.compute.data.DataException if the data set cannot be opened
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
   * Returns the loss by which the model is trained and tested.
   *
   * @return the loss
   */
  public Loss loss() {
    String key = model.settings().toJson().getString(LOSS);
    return key == null ? Loss.CROSS_ENTROPY : Loss.of(key);
  }

  private void requirePrecision() {
    Precision precision = precision();
    if (precision == Precision.FLOAT32) {
      return;
    }
    try {
      Engine.named(engine).checkPrecision(precision);
    } catch (IllegalArgumentException refused) {
      throw model
          .settings()
          .refuse(PRECISION, "is %s, but %s".formatted(precision.key(), refused.getMessage()));
    }
  }

  /** Returns the precision in which all models of this job compute, those for predictions too. */
  private Precision precision() {
    String key = model.settings().toJson().getString(PRECISION);
    return key == null ? Precision.FLOAT32 : Precision.of(key);
  }

  /**
   * Checks the names of engine and model, the model's options and its precision, before anything is
   * built.
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
    found.checkBatch(modelName(), workers.batch(), settings);
    requirePrecision();
  }

  /**
   * Checks that the engine can compute on the workers' device on this machine, before anything is
   * built. Only workers and evaluators need the device.
   *
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the device, the reason
   *     and what to do
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
   * Returns the file with the initial parameters.
   *
   * @return a safetensors file; empty if they follow from the seed or from a model in a file
   */
  public Optional<Path> initialParameters() {
    return Optional.ofNullable(model.settings().toJson().getString(PARAMETERS)).map(Path::of);
  }

  /** Returns the model's name, or the model file of a run if the name is the folder of that run. */
  private String modelName() {
    return RunModel.named(model.name(), engine, settings);
  }

  /**
   * Returns a member's name for messages.
   *
   * @param role the role in lower case, such as {@code worker}
   * @param rank the member's rank
   * @return such as {@code worker 1}, or {@code stage 1} if workers are stages
   */
  public String nameOf(String role, int rank) {
    return pipeline
        .filter(stages -> role.equals("worker"))
        .map(stages -> stages.name(rank))
        .orElseGet(() -> role + " " + rank);
  }

  /**
   * Returns whether the stages of the pipeline test the model.
   *
   * @return true if the stages test it, false if an evaluator or nobody does
   */
  public boolean stagesTest() {
    return evaluator.count() > 0
        && pipeline.filter(stages -> stages.evaluation().equals("stages")).isPresent();
  }

  /**
   * Returns the number of evaluators.
   *
   * @return 0 if nobody tests or the stages test
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

  private static OptionalLong counted(Settings resolved) {
    boolean counted = resolved.has(TRAINING_SAMPLES);
    long samples = resolved.longInteger(TRAINING_SAMPLES, 0, 1, MOST_SAMPLES);
    resolved.longInteger(DATA_LENGTH, 0, 1, MOST_SAMPLES);
    resolved.textList(CLASSES, List.of());
    if (resolved.isSection(FINGERPRINTS)) {
      checkFingerprints(resolved);
    }
    resolved.refuseUnknown();
    return counted ? OptionalLong.of(samples) : OptionalLong.empty();
  }

  private static void checkFingerprints(Settings resolved) {
    try {
      DataFingerprint.all(resolved.toJson().getJsonObject(FINGERPRINTS));
    } catch (IllegalArgumentException malformed) {
      throw resolved.refuse(FINGERPRINTS, malformed.getMessage());
    }
  }

  /** Refuses settings that need the whole gradient before any part of it is sent. */
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

  /** Refuses data that cannot be divided by speed; strategies refuse more. */
  private static void checkBalance(JobConfig job, Settings root) {
    String obstacle = null;
    if (job.pipeline().isPresent()) {
      obstacle = "a pipeline: its stages work on the same samples";
    } else if (!job.workers().sharesData()) {
      obstacle = "workers.sampler \"none\": each worker passes over all samples by itself";
    } else if (job.data().name().equals("stream")) {
      obstacle = "a stream: its events are divided evenly";
    }
    if (obstacle != null) {
      throw root.refuse("workers.balance", "is \"speed\", expected \"equal\" with " + obstacle);
    }
  }

  /** Refuses what needs epochs that workers share, or the number of samples of other nodes. */
  private static void checkOwnSamples(JobConfig job, Settings root) {
    boolean own = job.workers().ownData();
    String with = own ? "workers.data \"own\"" : "workers.partition";
    if (own && job.workers().partition().isPresent()) {
      throw root.refuse("workers.partition", "is given, expected none with " + with);
    }
    if (job.pipeline().isPresent() || job.data().name().equals("stream")) {
      throw root.refuse(
          own ? "workers.data" : "workers.partition",
          job.pipeline().isPresent()
              ? "cannot be used with a pipeline: its stages work on the same samples"
              : "cannot be used with a stream: its events are divided evenly");
    }
    if (job.workers().balancesSpeed()) {
      throw root.refuse(
          "workers.balance", "is \"speed\", expected \"equal\" with %s".formatted(with));
    }
    if (!job.workers().sharesData()) {
      throw root.refuse(
          "workers.sampler", "is \"none\", expected \"distributed\" with %s".formatted(with));
    }
    String passes =
        job.length().countsSamples()
            ? job.length().unit().key()
            : job.evaluator().everyEpochs() > 0
                ? "evaluator.everyEpochs"
                : job.optimizer.schedule().countsEpochs() ? "optimizer.schedule" : "";
    if (own && !passes.isEmpty()) {
      throw root.refuse(
          passes,
          "counts passes over the training set, but with %s nobody knows its size; expected steps or updates"
              .formatted(with));
    }
  }

  /** Refuses settings that need a class for each test answer. */
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
          "is %s, but model.loss is %s, which knows no most probable classes; expected 0"
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
    Settings file = section.with(KeyTrait.AGREED, KeyTrait.MODEL_FILE);
    file.has("name");
    file.path(PARAMETERS);
    section.choice(LOSS, Loss.CROSS_ENTROPY.key(), Loss.keys());
    section.choice(PRECISION, Precision.FLOAT32.key(), Precision.keys());
    return model;
  }

  private static OptimizerConfig optimizer(Settings section) {
    OptimizerConfig config = OptimizerConfig.read(section);
    section.refuseUnknown();
    return config;
  }

  private static DataConfig data(String origin, Settings section) {
    Map<String, Object> options = section.toJson().getMap();
    String name = NamedConfig.read(section, "digits").name();
    Settings local = section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE, KeyTrait.NOT_PASSED);
    Optional<Path> directory = local.path("directory");
    Optional<URI> download = section.with(KeyTrait.CHANGEABLE).address("download");
    DatasetProvider.scopes(name, section, JobConfig.class.getClassLoader());
    Map<String, Object> rest = new TreeMap<>(options);
    rest.keySet().removeAll(List.of("name", "directory", "download"));
    return new DataConfig(name, directory, download, rest, origin);
  }
}
