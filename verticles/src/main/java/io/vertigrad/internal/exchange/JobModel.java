package io.vertigrad.internal.exchange;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.data.ComponentException;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JoinException;
import io.vertigrad.strategy.ExchangeException;
import io.vertigrad.strategy.GroupChangedException;
import io.vertx.core.VertxException;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;

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
    Engine engine = Engine.named(job.engine());
    Model model = create(config.name(), () -> engine.model(config));
    try {
      return DatasetProvider.adapt(data, model, LOADER);
    } catch (RuntimeException e) {
      model.close();
      throw e;
    }
  }

  /**
   * Returns what to throw in place of what was thrown while a model was used. Failures of data, of
   * the exchange with others and of Vert.x stay as they are; all others are the model's.
   *
   * @param model its name in the job file
   * @param where such as {@code step 12}
   */
  public static RuntimeException failure(String model, String where, Throwable thrown) {
    return thrown instanceof ExchangeException
            || thrown instanceof GroupChangedException
            || thrown instanceof JoinException
            || thrown instanceof VertxException
            || thrown instanceof RejectedExecutionException
        ? (RuntimeException) thrown
        : ComponentException.of(component(model), where, thrown);
  }

  /** Builds a model or a part of it, whose name in the job file this is. */
  public static <T> T create(String model, Supplier<T> constructor) {
    return ComponentException.call(component(model), "its creation", constructor);
  }

  private static String component(String model) {
    return "model \"%s\"".formatted(model);
  }
}
