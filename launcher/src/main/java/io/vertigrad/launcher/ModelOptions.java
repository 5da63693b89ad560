package io.vertigrad.launcher;

import io.vertigrad.launcher.job.InputException;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.function.BiConsumer;
import picocli.CommandLine.Parameters;

/** Holds the options that name a trained model and the data that it was trained on. */
final class ModelOptions extends ModelJobOptions {

  @Parameters(
      index = "0",
      paramLabel = "MODEL",
      description =
          "A run's folder or its name below runs/, last for the newest run, a run's model.zip or"
              + " model.pt, or a .safetensors, .pt, .pt2 or .h5 file.")
  private String model;

  /**
   * Finds the model and reads the job.
   *
   * @throws InputException naming what is missing, and what was expected
   */
  Chosen chosen() {
    return chosen((file, json) -> {});
  }

  /**
   * Finds the model and reads the job, with values that the model's file decides.
   *
   * @param adjusting changes the job of the file before {@code --set} and {@code --data} do
   * @throws InputException naming what is missing, and what was expected
   */
  Chosen chosen(BiConsumer<Path, JsonObject> adjusting) {
    return chosen(model, adjusting);
  }
}
