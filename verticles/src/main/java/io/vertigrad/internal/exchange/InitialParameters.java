package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.job.JobConfig;
import java.nio.file.Path;

/** The parameters in a file that training begins with, where a job names one. */
public final class InitialParameters {

  private InitialParameters() {}

  /**
   * Puts them into a model; without such a file it keeps those of its seed.
   *
   * @throws DataException when the file is not of this model
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
   * Puts a stage's into it.
   *
   * @param whole layout of the model that the stage is a part of
   * @throws DataException when the file is not of this model
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
