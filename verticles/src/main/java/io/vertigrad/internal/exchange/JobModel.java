package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.job.JobConfig;

/** Builds the models of a job: the engine's, with what the data set keeps in it. */
public final class JobModel {

  private static final ClassLoader LOADER = JobModel.class.getClassLoader();

  private JobModel() {}

  /**
   * Builds a model. The calling thread owns it from then on.
   *
   * @param config the network, from {@code JobConfig.modelOn} or {@code modelIn}
   */
  public static Model of(JobConfig job, ModelConfig config) {
    return of(job, job.data(), config);
  }

  /**
   * Builds a model that answers in the units of the data's values.
   *
   * @param data the data section with the values that were fitted in training
   */
  public static Model of(JobConfig job, DataConfig data, ModelConfig config) {
    Model model = Engine.named(job.engine()).model(config);
    try {
      return DatasetProvider.adapt(data, model, LOADER);
    } catch (RuntimeException e) {
      model.close();
      throw e;
    }
  }
}
