package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.job.JobConfig;
import java.nio.file.Path;

/** Loads the initial parameters from a file, if the job names one. */
public final class InitialParameters {

  private InitialParameters() {}

  /**
   * Loads the file's parameters into a model. Without a file the model keeps those of its seed.
   *
   * @throws DataException if the file does not fit this model
   */
  public static Model into(Model model, JobConfig job) {
    try {
      job.initialParameters()
          .ifPresent(file -> read(file, model.layout(), model.layout(), model::writeParameters));
      return model;
    } catch (RuntimeException e) {
      model.close();
      throw e;
    }
  }

  /**
   * Loads the file's parameters of one stage into it.
   *
   * @param whole layout of the model that the stage is a part of
   * @throws DataException if the file does not fit this model
   */
  public static StageModel into(StageModel stage, ParameterLayout whole, JobConfig job) {
    try {
      job.initialParameters()
          .ifPresent(file -> read(file, whole, stage.layout(), stage::writeParameters));
      return stage;
    } catch (RuntimeException e) {
      stage.close();
      throw e;
    }
  }

  private static void read(
      Path file, ParameterLayout whole, ParameterLayout part, SafetensorsFile.Sink sink) {
    try (SafetensorsFile opened = SafetensorsFile.open(file)) {
      opened.require(whole);
      opened.read(part, sink);
    } catch (DataException e) {
      throw new DataException("model.parameters: " + e.getMessage(), e);
    }
  }
}
