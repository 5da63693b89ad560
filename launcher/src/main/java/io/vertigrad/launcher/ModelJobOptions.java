package io.vertigrad.launcher;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.Assignment;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobFile;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertigrad.launcher.run.RunLaunch;
import io.vertigrad.training.SavedModel;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BiConsumer;
import picocli.CommandLine.Option;

/** Holds the options that say what a trained model's data and job are. */
class ModelJobOptions {

  private static final long READ_SECONDS = 30;

  @Option(
      names = "--data",
      paramLabel = "DIR",
      description =
          "Folder with the data set's files, or one file, where the run's is not there any more.")
  private String data;

  @Option(
      names = "--job",
      paramLabel = "FILE",
      description = "Job file that says what the data are, of a model that is in no run's folder.")
  private String job;

  @Option(
      names = "--set",
      paramLabel = "KEY=VALUE",
      description = "Changes one key of the job, such as data.name=mnist; repeatable.")
  private List<String> assignments = new ArrayList<>();

  /**
   * The resolved options: a job, the file that holds the model, and the model's run if it has one.
   */
  record Chosen(JobConfig job, Path file, Optional<RunDirectory> run) {

    SavedModel open() {
      return SavedModel.open(job, file);
    }
  }

  /**
   * Finds the model and reads the job, with values that the model's file decides.
   *
   * @param model what the user calls it: a run or a file
   * @param adjusting changes the job of the file before {@code --set} and {@code --data} do
   * @throws InputException naming what is missing, and what was expected
   */
  final Chosen chosen(String model, BiConsumer<Path, JsonObject> adjusting) {
    Optional<RunDirectory> run = run(model);
    Path file =
        run.isEmpty()
            ? Path.of(model)
            : run.get()
                .model()
                .orElseThrow(
                    () ->
                        new InputException(
                            "%s: the run has left no model: it is not over, or failed"
                                .formatted(run.get().path())));
    if (!Files.isRegularFile(file)) {
      throw new InputException(
          "%s: there is no such model, expected the folder of a run, or a file such as model.zip, .safetensors or .pt"
              .formatted(model));
    }
    Optional<RunDirectory> beside = run.or(() -> besideOf(file));
    JsonObject json;
    String origin;
    if (job != null) {
      JobFile read = read(job);
      json = read.json().copy();
      origin = read.origin();
    } else if (beside.isPresent()) {
      json = ofRun(beside.get());
      origin = beside.get().job().toString();
    } else {
      json = SavedModel.jobOf(file);
      origin = file.toString();
    }
    json.remove("run");
    adjusting.accept(file, json);
    return new Chosen(changed(origin, json), file, beside);
  }

  private static Optional<RunDirectory> run(String model) {
    Path path = Path.of(model);
    if (Files.isRegularFile(path)) {
      return Optional.empty();
    }
    boolean named = model.equals("last") || Files.isDirectory(path);
    boolean below = Files.isDirectory(RunDirectory.RUNS.resolve(model));
    return named || below
        ? Optional.of(RunDirectory.find(RunDirectory.RUNS, model))
        : Optional.empty();
  }

  private static Optional<RunDirectory> besideOf(Path file) {
    RunDirectory folder = new RunDirectory(file.toAbsolutePath().getParent());
    return Files.isReadable(folder.job()) ? Optional.of(folder) : Optional.empty();
  }

  /** Reads the run's job and adds the paths of data, which {@code job.json} leaves out. */
  private static JsonObject ofRun(RunDirectory run) {
    JsonObject json = run.readJob();
    if (Files.isReadable(run.launch())) {
      JsonObject local = RunLaunch.read(run).local().getJsonObject("data", new JsonObject());
      json.put("data", json.getJsonObject("data", new JsonObject()).mergeIn(local, true));
    }
    return json;
  }

  private JobConfig changed(String origin, JsonObject json) {
    for (String assignment : assignments) {
      Assignment.parse(assignment).applyTo(json);
    }
    if (data != null) {
      new Assignment("data.directory", data).applyTo(json);
    }
    return JobConfig.read(origin, json);
  }

  private static JobFile read(String name) {
    Vertx reader = Vertx.vertx();
    try {
      return Await.result(JobFile.read(reader, name), READ_SECONDS, "reading the job file");
    } finally {
      reader.close();
    }
  }
}
