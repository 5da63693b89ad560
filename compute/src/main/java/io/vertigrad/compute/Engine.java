package io.vertigrad.compute;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.Settings;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.ServiceLoader;

/** A library that computes: builds models and update rules. Found by name through ServiceLoader. */
public interface Engine {

  /** The engine of job files that name none. */
  String USUAL = "dl4j";

  /**
   * The name used in job files, for example {@code dl4j}.
   *
   * @return one word
   */
  String name();

  /**
   * Checks a model's name and options without building it, so that a mistake in a job file is found
   * before anything else begins. An engine that cannot tell accepts everything.
   *
   * @param name of the model
   * @param options the section of the job file, of which {@code name} has been read
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the key, what was
   *     found and what was expected
   */
  default void check(String name, Settings options) {}

  /**
   * Checks that this engine can compute on a device of this machine, so that a GPU that is missing
   * is told before anything else begins. An engine that says nothing else has the processor only.
   *
   * @param device where models are to compute
   * @throws IllegalArgumentException with the reason, and with what to do
   */
  default void checkDevice(Device device) {
    if (device.gpu()) {
      throw new IllegalArgumentException(
          "the engine %s computes on the processor only: leave it out".formatted(name()));
    }
  }

  /**
   * Loads this engine's libraries, which the first model would otherwise do; from any thread. A
   * failure is told again by whoever builds a model.
   *
   * @param threads threads one model may compute on
   */
  default void prepare(int threads) {}

  /**
   * Builds a model on the calling thread, which from then on owns it.
   *
   * @param config the model's name, options, input shape, number of classes and seed
   * @return a model that is used and closed on this thread
   * @throws IllegalArgumentException with a message for the user when there is no such model, its
   *     options are wrong, or it does not fit the input shape or the number of classes
   */
  Model model(ModelConfig config);

  /**
   * How many parameters a model has, as far as that is known without building it.
   *
   * @param config the model
   * @return empty where only building it tells
   */
  default OptionalLong parameters(ModelConfig config) {
    return OptionalLong.empty();
  }

  /**
   * Cuts a model into stages on the calling thread; builds none of them yet.
   *
   * @param config the model
   * @param split where it is cut
   * @return the stages, to be built one by one
   * @throws IllegalArgumentException with the reason when it cannot be built or cut there, or when
   *     this engine cannot cut models
   */
  default SplitModel split(ModelConfig config, SplitConfig split) {
    throw new IllegalArgumentException(
        "engine %s cannot cut a model into stages".formatted(name()));
  }

  /**
   * A fresh update rule with zero state for a partition of {@code length} trainable elements.
   *
   * @param config the optimizer
   * @param length trainable elements of the partition
   * @return a rule that is used by one thread
   */
  UpdateRule updateRule(OptimizerConfig config, int length);

  /**
   * Backend, versions, helpers and thread settings, for the run's summary and for the doctor.
   *
   * @return texts by name
   */
  Map<String, String> describe();

  /**
   * How the file of a trained model is called in the folder of a run.
   *
   * @return a file name; its ending is what people know such files by
   */
  default String modelFile() {
    return "model.zip";
  }

  /**
   * What it holds outside the heap now; cheap enough for once a second, from any thread.
   *
   * @return bytes outside the heap
   */
  default NativeMemory memory() {
    return NativeMemory.UNKNOWN;
  }

  /**
   * The name of the engine that a job file which names none is computed by.
   *
   * @return {@code dl4j}, unless another is the only one on the class path
   */
  static String usual() {
    List<String> found = names();
    return found.size() == 1 ? found.get(0) : USUAL;
  }

  /**
   * The names of all engines on the class path.
   *
   * @return in the order in which they were found
   */
  static List<String> names() {
    List<String> found = new ArrayList<>();
    ServiceLoader.load(Engine.class).forEach(engine -> found.add(engine.name()));
    return found;
  }

  /**
   * The engine of this name.
   *
   * @param name as in a job file
   * @return a new engine
   * @throws IllegalArgumentException listing the known names when there is none of this name
   */
  static Engine named(String name) {
    for (Engine engine : ServiceLoader.load(Engine.class)) {
      if (engine.name().equals(name)) {
        return engine;
      }
    }
    throw new IllegalArgumentException(
        ("engine '%s' is not on the class path, expected one of: %s; put %s and what it depends on"
                + " into VERTIGRAD_CLASSPATH (docs/pytorch.md)")
            .formatted(
                name,
                String.join(", ", names()),
                name.matches("dl4j|pytorch")
                    ? "the jar io.vertigrad:vertigrad-engine-" + name
                    : "its jar"));
  }
}
