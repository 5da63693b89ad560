package io.vertigrad.benchmarks.cells;

import static io.vertigrad.benchmarks.cells.Figure.COMPILER_SHARE;
import static io.vertigrad.benchmarks.cells.Figure.CPU_MILLIS_PER_ROUND;
import static io.vertigrad.benchmarks.cells.Figure.CPU_SECONDS;
import static io.vertigrad.benchmarks.cells.Figure.FIRST_CPU_MILLIS_PER_ROUND;
import static io.vertigrad.benchmarks.cells.Figure.FIRST_SAMPLES_PER_SECOND;
import static io.vertigrad.benchmarks.cells.Figure.FIRST_WALL_MILLIS_PER_ROUND;
import static io.vertigrad.benchmarks.cells.Figure.MILLION_PARAMETERS_PER_SECOND;
import static io.vertigrad.benchmarks.cells.Figure.SAMPLES_PER_SECOND;
import static io.vertigrad.benchmarks.cells.Figure.SECONDS;
import static io.vertigrad.benchmarks.cells.Figure.STEADY_FROM_ROUND;
import static io.vertigrad.benchmarks.cells.Figure.WALL_MILLIS_PER_ROUND;

import io.vertigrad.benchmarks.allreduce.AllReduceBenchmark;
import io.vertigrad.benchmarks.compute.ComputeBenchmark;
import io.vertigrad.benchmarks.exchange.ExchangeBenchmark;
import io.vertigrad.benchmarks.marginal.MarginalBenchmark;
import io.vertigrad.benchmarks.marginal.MarginalCase;
import io.vertigrad.benchmarks.marginal.MarginalCase.Trained;
import io.vertigrad.benchmarks.marginal.Phases;
import io.vertigrad.benchmarks.pipeline.PipelineBenchmark;
import io.vertigrad.benchmarks.pipeline.PipelineCase;
import io.vertigrad.benchmarks.process.ArchiveCommandLine;
import io.vertigrad.benchmarks.process.CommandTimer;
import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.process.TrainCommandLine.Timed;
import io.vertigrad.benchmarks.scaling.ScalingBenchmark;
import io.vertigrad.benchmarks.scaling.TrainingCase;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The list of all cells. Each is measured by the benchmark that its name begins with. */
final class Cells {

  private static final String PROCESSES = "processes";
  private static final String STREAMS = "streams";
  private static final String RAW_TCP = "raw TCP";
  private static final String RAW_TCP_WITH_SUMS = "raw TCP with sums";
  private static final int NEWER = 25;
  private static final String NEWER_JAVA = ", Java %s or newer".formatted(NEWER);
  private static final Pattern JAVA_VERSION = Pattern.compile("JAVA_VERSION=\"(\\d+).*");

  /** The benchmarks that start {@code ./vertigrad train}. */
  private static final List<String> TRAIN =
      List.of("marginal", "command", "archive", "scaling", "weak scaling", "pipeline");

  /** The placements of training, with the names that {@code marginal} has for them. */
  private static final Map<String, String> TRAINING_PLACES =
      Map.of(MarginalCase.ONE_JVM, MarginalCase.ONE_JVM, PROCESSES, "auto", STREAMS, "stream");

  private static final int MIB = 1 << 20;

  private static final List<Integer> WEAK_SCALING_WORKERS = List.of(1, 2, 4, 8);

  /** The most workers that are measured even where they have to share a processor. */
  private static final int ALWAYS = 2;

  private final ReportOptions options;
  private final int processors;
  private final List<Cell> cells = new ArrayList<>();

  /** Makes a class archive. */
  @FunctionalInterface
  interface ArchiveMaker {

    /**
     * Makes the archive.
     *
     * @param before words before the command
     */
    Path make(List<String> before) throws IOException, InterruptedException;
  }

  private Cells(ReportOptions options, int processors) {
    this.options = options;
    this.processors = processors;
  }

  /** Returns all cells in the order in which a turn measures them. */
  static List<Cell> all(ReportOptions options) {
    return all(options, Runtime.getRuntime().availableProcessors());
  }

  /**
   * Returns all cells in the order in which a turn measures them.
   *
   * @param processors those of this machine
   */
  static List<Cell> all(ReportOptions options, int processors) {
    Cells list = new Cells(options, processors);
    list.addTraining();
    list.addCommands();
    list.addArchives();
    list.addExchange();
    list.addAllReduce();
    list.addGradients();
    list.addScaling();
    list.addWeakScaling();
    list.addPipelines();
    return List.copyOf(list.cells);
  }

  /**
   * Archives classes and trains once if a cell will train, so that none includes what is built at
   * the first start or goes on beside it.
   *
   * @return what a reader of the report should know
   */
  static List<String> prepare(List<Cell> cells, ReportOptions options) throws Exception {
    List<String> names =
        cells.stream()
            .filter(cell -> cell.missing().isEmpty())
            .map(Cell::name)
            .filter(name -> TRAIN.stream().anyMatch(name::startsWith))
            .toList();
    if (names.isEmpty()) {
      return List.of();
    }
    boolean pytorch = names.stream().anyMatch(name -> name.endsWith(MarginalCase.PYTORCH));
    List<List<String>> starts = new ArrayList<>();
    // The build of this engine makes the class archive obsolete.
    starts.add(pytorch ? List.of("env", "VERTIGRAD_ENGINE=" + MarginalCase.PYTORCH) : List.of());
    if (names.stream().anyMatch(name -> name.endsWith(NEWER_JAVA))) {
      starts.add(newerJava(options));
    }
    List<String> notes = archive(starts, ArchiveCommandLine::make);
    for (String engine :
        pytorch ? List.of(MarginalCase.DL4J, MarginalCase.PYTORCH) : List.of(MarginalCase.DL4J)) {
      new MarginalBenchmark("", 1, false)
          .prepare(new MarginalCase(Trained.MLP, 2, "sync", MarginalCase.ONE_JVM, engine));
    }
    return notes;
  }

  /**
   * Makes class archives. A command without one takes longer to start, and nothing else.
   *
   * @param starts the words before the command, of each archive
   * @return a sentence for each archive that could not be made
   */
  static List<String> archive(List<List<String>> starts, ArchiveMaker maker)
      throws InterruptedException {
    List<String> notes = new ArrayList<>();
    for (List<String> before : starts) {
      try {
        maker.make(before);
      } catch (IOException e) {
        notes.add("no class archive, so every start takes longer: " + e.getMessage());
      }
    }
    return notes;
  }

  private void addTraining() {
    for (Trained model : List.of(Trained.CONVNET, Trained.MLP, Trained.MLP_25M)) {
      for (String strategy : List.of("sync", "async", "allreduce", "dpsgd")) {
        addTraining(model, 2, strategy);
        addTraining(model, 2, strategy, STREAMS);
      }
    }
    addTraining(Trained.CONVNET_B32, 2, "sync");
    addTraining(Trained.MLP_B32, 4, "sync");
    addTraining(Trained.MLP_B32, 4, "allreduce");
    addTraining(Trained.MLP_B256, 2, "allreduce");
    addTraining(Trained.RESNET20, 2, "allreduce");
    addTraining(Trained.RESNET20, 2, "allreduce", MarginalCase.ONE_JVM, MarginalCase.PYTORCH);
    addTraining(Trained.RESNET20, 2, "allreduce", PROCESSES, MarginalCase.PYTORCH);
    addTraining(Trained.RESNET20, 2, "dpsgd");
  }

  private void addTraining(Trained model, int workers, String strategy) {
    addTraining(model, workers, strategy, MarginalCase.ONE_JVM);
    addTraining(model, workers, strategy, PROCESSES);
  }

  private void addTraining(Trained model, int workers, String strategy, String place) {
    addTraining(model, workers, strategy, place, MarginalCase.DL4J);
  }

  private void addTraining(
      Trained model, int workers, String strategy, String place, String engine) {
    MarginalCase one =
        new MarginalCase(model, workers, strategy, TRAINING_PLACES.get(place), engine);
    String name = "marginal, %s, %s workers, %s, %s".formatted(model, workers, strategy, place);
    addRounds(
        engine.equals(MarginalCase.DL4J) ? name : name + ", " + engine, Optional.empty(), one);
  }

  private void addRounds(String name, Optional<String> missing, MarginalCase one) {
    cells.add(new Cell(name, Figure.TRAINING, missing, () -> rounds(one)));
  }

  private Map<Figure, Double> rounds(MarginalCase one) throws Exception {
    Phases phases = new MarginalBenchmark("", options.rounds(), false).measure(one);
    double samples = one.workers() * one.model().batch() * 1e3;
    Map<Figure, Double> figures = new EnumMap<>(Figure.class);
    figures.put(FIRST_SAMPLES_PER_SECOND, samples / phases.first().wallMillis());
    figures.put(FIRST_WALL_MILLIS_PER_ROUND, phases.first().wallMillis());
    figures.put(FIRST_CPU_MILLIS_PER_ROUND, phases.first().cpuMillis());
    figures.put(SAMPLES_PER_SECOND, samples / phases.steady().wallMillis());
    figures.put(WALL_MILLIS_PER_ROUND, phases.steady().wallMillis());
    figures.put(CPU_MILLIS_PER_ROUND, phases.steady().cpuMillis());
    figures.put(STEADY_FROM_ROUND, phases.steadyFrom());
    figures.put(COMPILER_SHARE, phases.compilerShare());
    for (Figure figure : Figure.ofThreads()) {
      figures.put(figure, phases.steady().threads().get(figure.threads().orElseThrow()));
    }
    return figures;
  }

  private void addCommands() {
    Optional<String> noData = missing("train-images-idx3-ubyte");
    for (boolean processes : new boolean[] {false, true}) {
      String name =
          "command, conf/mnist-sync.json, " + (processes ? PROCESSES : MarginalCase.ONE_JVM);
      addTimed(name, noData, () -> command("conf/mnist-sync.json", processes, List.of()));
      addTimed(
          name + NEWER_JAVA,
          noData.or(this::missingJava),
          () -> command("conf/mnist-sync.json", processes, newerJava(options)));
    }
  }

  private Map<Figure, Double> command(String file, boolean processes, List<String> before)
      throws Exception {
    JsonObject job = new JsonObject(Files.readString(Path.of(file)));
    job.getJsonObject("data").put("directory", options.data());
    Timed timed = TrainCommandLine.time(job, processes, before);
    return Map.of(SECONDS, timed.seconds(), CPU_SECONDS, timed.cpuSeconds());
  }

  private void addArchives() {
    addTimed("archive", Optional.empty(), () -> archive(List.of()));
    addTimed("archive" + NEWER_JAVA, missingJava(), () -> archive(newerJava(options)));
  }

  private static Map<Figure, Double> archive(List<String> before) throws Exception {
    CommandTimer.Times times = ArchiveCommandLine.time(before);
    return Map.of(SECONDS, times.seconds(), CPU_SECONDS, times.cpuSeconds());
  }

  private void addTimed(String name, Optional<String> missing, Cell.Measurement measurement) {
    cells.add(new Cell(name, List.of(SECONDS, CPU_SECONDS), missing, measurement));
  }

  /** Returns the words before a command that make it use the Java of {@code --java}. */
  private static List<String> newerJava(ReportOptions options) {
    return List.of("env", "JAVA_HOME=" + options.java());
  }

  /** Returns why there is no newer Java, if {@code --java} names none. */
  private Optional<String> missingJava() {
    if (options.java().isEmpty()) {
      return Optional.of("no --java, expected the folder of Java %s or newer".formatted(NEWER));
    }
    Path release = Path.of(options.java(), "release");
    try {
      String found =
          Files.readAllLines(release).stream()
              .map(JAVA_VERSION::matcher)
              .filter(Matcher::matches)
              .map(version -> version.group(1))
              .findFirst()
              .orElse("0");
      return Integer.parseInt(found) >= NEWER
          ? Optional.empty()
          : Optional.of(
              "--java %s: found Java %s, expected %s or newer"
                  .formatted(options.java(), found, NEWER));
    } catch (IOException e) {
      return Optional.of("--java %s: found no file named release".formatted(options.java()));
    }
  }

  /** Returns why a data set cannot be read, if {@code --data} has no such file. */
  private Optional<String> missing(String file) {
    if (options.data().isEmpty()) {
      return Optional.of("no --data, expected a folder with %s.gz".formatted(file));
    }
    Path folder = Path.of(options.data());
    return Files.exists(folder.resolve(file)) || Files.exists(folder.resolve(file + ".gz"))
        ? Optional.empty()
        : Optional.of("--data %s: found no %s.gz".formatted(folder, file));
  }

  private void addExchange() {
    for (int parameters : List.of(2_000, 407_050, 2_500_000, 25_000_000)) {
      addExchange(parameters, 2, "sync");
      addExchange(parameters, 2, "async");
    }
    addExchange(2_500_000, 4, "sync");
  }

  private void addExchange(int parameters, int workers, String strategy) {
    addExchange(parameters, workers, strategy, MarginalCase.ONE_JVM, "embedded");
    addExchange(parameters, workers, strategy, PROCESSES, PROCESSES);
    addExchange(parameters, workers, strategy, STREAMS, "processes, streams");
    addExchange(parameters, workers, strategy, RAW_TCP_WITH_SUMS, RAW_TCP_WITH_SUMS);
    addExchange(parameters, workers, strategy, RAW_TCP, RAW_TCP);
  }

  private void addExchange(int parameters, int workers, String strategy, String place, String row) {
    cells.add(
        new Cell(
            String.format(
                Locale.ROOT, "exchange, %,d x %d, %s, %s", parameters, workers, strategy, place),
            List.of(MILLION_PARAMETERS_PER_SECOND, WALL_MILLIS_PER_ROUND, CPU_MILLIS_PER_ROUND),
            Optional.empty(),
            () -> {
              ExchangeBenchmark.Measured measured =
                  ExchangeBenchmark.measure(strategy, parameters, workers, row, options.quick());
              return Map.of(
                  MILLION_PARAMETERS_PER_SECOND, measured.millionParametersPerSecond(),
                  WALL_MILLIS_PER_ROUND, measured.roundMillis(),
                  CPU_MILLIS_PER_ROUND, measured.cpuMillis());
            }));
  }

  private void addAllReduce() {
    addAllReduce("64 KiB", MIB / 16, 2, List.of("direct"));
    addAllReduce("1 MiB", MIB, 2, List.of("direct", "ring"));
    addAllReduce("16 MiB", 16 * MIB, 2, List.of("ring"));
    addAllReduce("64 MiB", 64 * MIB, 2, List.of("ring"));
    addAllReduce("64 MiB", 64 * MIB, 4, List.of("ring"));
  }

  private void addAllReduce(String size, int bytes, int workers, List<String> orders) {
    String sum = "allreduce, %s x %s, ".formatted(size, workers);
    for (String order : orders) {
      String prefix = sum + order + ", ";
      addSum(prefix + MarginalCase.ONE_JVM, bytes, workers, order + ", embedded");
      addSum(prefix + PROCESSES, bytes, workers, order + ", processes");
      addSum(prefix + STREAMS, bytes, workers, order + ", streams");
    }
    addSum(sum + RAW_TCP, bytes, workers, RAW_TCP);
  }

  private void addSum(String name, int bytes, int workers, String row) {
    add(
        name,
        WALL_MILLIS_PER_ROUND,
        () -> AllReduceBenchmark.millis(bytes, workers, row, options.quick()));
  }

  private void addGradients() {
    addGradients("convnet", 128, List.of("dl4j", "pytorch", "stock"));
    addGradients("mlp", 64, List.of("dl4j", "pytorch", "stock"));
    addGradients("resnet20", 64, List.of("dl4j", "pytorch"));
    addGradients("resnet20", 128, List.of("dl4j", "pytorch"));
  }

  private void addGradients(String model, int batch, List<String> engines) {
    for (String engine : engines) {
      add(
          "compute, %s b%s, %s".formatted(model, batch, engine),
          WALL_MILLIS_PER_ROUND,
          () -> ComputeBenchmark.millis(model, batch, engine, options.quick()));
    }
  }

  private void addScaling() {
    addScaling("convnet", options.quick() ? 20_000 : 100_000);
    addScaling("mlp", options.quick() ? 20_000 : 100_000);
    addScaling("resnet20", options.quick() ? 1_024 : 3_072);
  }

  private void addScaling(String model, long samples) {
    List<TrainingCase> runs = ScalingBenchmark.cases(model, samples);
    String prefix = "scaling, " + model;
    add(
        prefix + ", local loop",
        SAMPLES_PER_SECOND,
        () -> ScalingBenchmark.localLoops(runs.get(0), 1));
    add(
        prefix + ", two local loops at once",
        SAMPLES_PER_SECOND,
        () -> ScalingBenchmark.localLoops(runs.get(0), 2));
    for (TrainingCase run : runs) {
      add(
          "%s, %s workers, %s, %s"
              .formatted(
                  prefix,
                  run.workers(),
                  run.strategy(),
                  run.processes() ? PROCESSES : MarginalCase.ONE_JVM),
          SAMPLES_PER_SECOND,
          () -> TrainCommandLine.train(run.job(), run.processes()).samplesPerSecond());
    }
  }

  /**
   * Adds the cells whose workers each keep their batch. One worker and as many as have a processor
   * each come first, because {@code --minutes} may end the turn.
   */
  private void addWeakScaling() {
    int most =
        WEAK_SCALING_WORKERS.stream()
            .filter(workers -> missingProcessors(workers).isEmpty())
            .reduce(1, Math::max);
    addWeakScaling(List.of(1, most));
    addWeakScaling(
        WEAK_SCALING_WORKERS.stream().filter(workers -> workers != 1 && workers != most).toList());
  }

  private void addWeakScaling(List<Integer> counts) {
    for (Trained model : List.of(Trained.RESNET20, Trained.MLP, Trained.CONVNET)) {
      for (String strategy : List.of("allreduce", "sync", "dpsgd")) {
        for (String place : List.of(PROCESSES, MarginalCase.ONE_JVM)) {
          for (int workers : counts) {
            addRounds(
                WeakScaling.name(model, strategy, workers, place),
                missingProcessors(workers),
                new MarginalCase(
                    model, workers, strategy, TRAINING_PLACES.get(place), MarginalCase.DL4J));
          }
        }
      }
    }
  }

  /** Returns why so many workers say nothing about scaling here, if they share processors. */
  private Optional<String> missingProcessors(int workers) {
    return workers <= Math.max(processors, ALWAYS)
        ? Optional.empty()
        : Optional.of(
            "found %s processors, expected %s, one for each worker".formatted(processors, workers));
  }

  private void addPipelines() {
    List<PipelineCase> runs = new ArrayList<>(PipelineBenchmark.mlp(options.quick() ? 20 : 60));
    runs.addAll(PipelineBenchmark.resNet(options.quick() ? 4 : 10));
    for (PipelineCase run : runs) {
      add(
          "pipeline, " + run,
          SAMPLES_PER_SECOND,
          () -> TrainCommandLine.train(run.job(), true).samplesPerSecond());
    }
  }

  private void add(String name, Figure figure, Callable<Double> measurement) {
    cells.add(
        new Cell(
            name, List.of(figure), Optional.empty(), () -> Map.of(figure, measurement.call())));
  }
}
