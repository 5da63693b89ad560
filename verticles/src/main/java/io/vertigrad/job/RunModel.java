package io.vertigrad.job;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;

/** The model that an earlier run left in its folder, if {@code model.name} names that folder. */
final class RunModel {

  private static final String KEY = "model.name";
  private static final String JOB = "job.json";

  private RunModel() {}

  /**
   * Returns the name, or the model file if the name is the folder of a run.
   *
   * @param engine the engine that will read the file
   * @param settings the job file, for error messages
   * @throws io.vertigrad.compute.settings.SettingsException if the run left no model or used
   *     another engine
   */
  static String named(String name, String engine, Settings settings) {
    Path folder;
    try {
      folder = Path.of(name);
    } catch (InvalidPathException noPath) {
      return name;
    }
    boolean run = Files.isRegularFile(folder.resolve(JOB));
    if (name.isEmpty() || !Files.isDirectory(folder) || !run && !name.contains("/")) {
      return name;
    }
    if (!run) {
      throw settings.refuse(
          KEY,
          "is \"%s\", a folder without %s; expected the folder of a run that has ended"
              .formatted(name, JOB));
    }
    String trained = engineOf(folder.resolve(JOB), settings);
    if (!trained.equals(engine)) {
      throw settings.refuse(
          KEY,
          "is \"%s\", a run of the engine %s, but this job's engine is %s; export that run %s"
              .formatted(
                  name, trained, engine, "--to safetensors and name it in model.parameters"));
    }
    Path model = Engine.named(engine).modelFileIn(folder);
    if (!Files.isRegularFile(model)) {
      throw settings.refuse(
          KEY,
          "is \"%s\", a folder without %s; expected the folder of a run that has ended"
              .formatted(name, model.getFileName()));
    }
    return model.toString();
  }

  private static String engineOf(Path job, Settings settings) {
    try {
      return new JsonObject(JsonText.read(job)).getString("engine", Engine.USUAL);
    } catch (IOException | DecodeException | ClassCastException e) {
      throw settings.refuse(
          KEY, "is the folder of a run whose %s cannot be read: %s".formatted(job, e.getMessage()));
    }
  }
}
