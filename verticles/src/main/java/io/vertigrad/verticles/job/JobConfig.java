package io.vertigrad.verticles.job;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.settings.Settings;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A whole job file, checked: what to train, on what, how updates combine, and where roles run.
 *
 * @param origin the file it came from, for errors
 * @param addresses the job's name and its event-bus addresses
 * @param seed seed of initial parameters, sample order and generated data
 * @param steps steps per worker: rounds of a synchronous strategy; {@code steps * workers} updates
 *     of an asynchronous one
 * @param engine name of the compute engine
 * @param model which network
 * @param data which samples
 * @param optimizer how the servers step
 * @param strategy how updates combine
 * @param workers how many, and what each does
 * @param pipeline the stages of a model spread over members; empty where each has all of it
 * @param servers how many, and what each keeps
 * @param evaluator how often the newest parameters are tested
 * @param exchange how partitions travel
 * @param cluster where members listen and whom they trust
 * @param dashboard the page that shows the run
 * @param timeline true when members tell what they did when
 * @param settings the whole file, as it was read
 */
public record JobConfig(
    String origin,
    Addresses addresses,
    long seed,
    long steps,
    String engine,
    NamedConfig model,
    DataConfig data,
    OptimizerConfig optimizer,
    NamedConfig strategy,
    WorkersConfig workers,
    Optional<PipelineConfig> pipeline,
    ServersConfig servers,
    EvaluatorConfig evaluator,
    ExchangeConfig exchange,
    ClusterConfig cluster,
    DashboardConfig dashboard,
    boolean timeline,
    Settings settings) {

  /**
   * Reads and checks a job file.
   *
   * @param origin how errors name the file
   * @throws io.vertigrad.codecs.settings.SettingsException at the first thing wrong
   */
  public static JobConfig read(String origin, JsonObject json) {
    Settings root = Settings.of(origin, json.copy());
    Optional<PipelineConfig> pipeline = PipelineConfig.read(root.section("pipeline"));
    JobConfig job =
        new JobConfig(
            origin,
            addresses(root),
            root.longInteger("seed", 0, 0, Long.MAX_VALUE),
            root.longInteger("steps", 200, 1, 1_000_000_000_000L),
            root.string("engine", "dl4j"),
            NamedConfig.read(root.section("model"), "convnet"),
            data(root.section("data")),
            optimizer(root.section("optimizer")),
            NamedConfig.read(root.section("strategy"), pipeline.isEmpty() ? "sync" : "allreduce"),
            WorkersConfig.read(root.section("workers"), pipeline),
            pipeline,
            ServersConfig.read(root.section("servers")),
            EvaluatorConfig.read(root.section("evaluator")),
            ExchangeConfig.read(root.section("exchange")),
            ClusterConfig.read(root.section("cluster")),
            DashboardConfig.read(root.section("dashboard")),
            root.flag("timeline", false),
            root);
    root.refuseUnknown();
    pipeline.ifPresent(stages -> checkPipeline(job, root));
    return job;
  }

  /** The resolved job file: what was written, and the defaults of the keys that were not. */
  public JsonObject json() {
    return settings.resolved();
  }

  /**
   * The model this job trains on samples of this data set.
   *
   * @throws io.vertigrad.codecs.settings.SettingsException when {@code evaluator.topK} counts all of
   *     its classes
   */
  public ModelConfig modelOn(Dataset data) {
    if (evaluator.topK() >= data.classes()) {
      throw settings.refuse(
          "evaluator.topK",
          "is %d, expected less than the %d classes of the data: every sample would count"
              .formatted(evaluator.topK(), data.classes()));
    }
    Map<String, Object> options = new TreeMap<>(model.settings().toJson().getMap());
    options.remove("name");
    return new ModelConfig(
        model.name(), options, data.shape(), data.classes(), seed, workers.threads());
  }

  /** A member for people: {@code worker 1}, or {@code stage 1} where workers are stages. */
  public String nameOf(String role, int rank) {
    return pipeline
        .filter(stages -> role.equals("worker"))
        .map(stages -> stages.name(rank))
        .orElseGet(() -> role + " " + rank);
  }

  /** True when the stages of its pipeline test the model themselves. */
  public boolean stagesTest() {
    return evaluator.count() > 0
        && pipeline.filter(stages -> stages.evaluation().equals("stages")).isPresent();
  }

  /** How many evaluators take part. */
  public int evaluators() {
    return stagesTest() ? 0 : evaluator.count();
  }

  private static void checkPipeline(JobConfig job, Settings root) {
    if (job.optimizer().clipNorm() > 0) {
      throw root.refuse(
          "optimizer.clipNorm",
          "cannot be used with a pipeline: no stage knows the whole gradient");
    }
  }

  private static Addresses addresses(Settings root) {
    try {
      return new Addresses(root.string("job", "vertigrad"));
    } catch (IllegalArgumentException e) {
      throw root.refuse("job", "is not usable: " + e.getMessage());
    }
  }

  private static OptimizerConfig optimizer(Settings section) {
    OptimizerConfig config = OptimizerConfig.read(section);
    section.refuseUnknown();
    return config;
  }

  private static DataConfig data(Settings section) {
    Map<String, Object> options = section.toJson().getMap();
    String name = section.string("name", "digits");
    Optional<Path> directory = Optional.ofNullable(section.string("directory", null)).map(Path::of);
    Optional<URI> download = Optional.ofNullable(section.string("download", null)).map(URI::create);
    Map<String, Object> rest = new TreeMap<>(options);
    rest.keySet().removeAll(java.util.List.of("name", "directory", "download"));
    return new DataConfig(name, directory, download, rest);
  }
}
