package io.vertigrad.compute;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import io.vertigrad.compute.settings.Settings;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.ServiceLoader;

/** A library that builds models and update rules. It is found by name through ServiceLoader. */
public interface Engine {

  /** The name of the engine that computes when a job file names none. */
  String USUAL = "dl4j";

  /**
   * Returns the name used in job files, for example {@code dl4j}.
   *
   * @return one word
   */
  String name();

  /**
   * Checks a model's name and options without building it, so that an error in a job file is found
   * before anything starts. The default accepts everything.
   *
   * @param name of the model
   * @param options the section of the job file, of which {@code name} has been read
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the key, what was
   *     found and what was expected
   */
  default void check(String name, Settings options) {}

  /**
   * Checks that a model takes batches of this size. The default accepts every size.
   *
   * @param model value of {@code model.name}, which was checked
   * @param batch number of samples, {@code workers.batch}
   * @param job the whole job file
   * @throws io.vertigrad.compute.settings.SettingsException naming the file, the key, what was
   *     found and what was expected
   */
  default void checkBatch(String model, int batch, Settings job) {}

  /**
   * Checks that this engine can compute on a device of this machine, so that a missing GPU is found
   * before anything starts. The default accepts only the processor.
   *
   * @param device that models are to compute on
   * @throws IllegalArgumentException with the reason and what to do
   */
  default void checkDevice(Device device) {
    if (device.gpu()) {
      throw new IllegalArgumentException(
          "the engine %s computes on the processor only: leave it out".formatted(name()));
    }
  }

  /**
   * Checks that this engine computes in a precision. The default accepts only float32.
   *
   * @param precision of the models' passes
   * @throws IllegalArgumentException with the reason and what to do
   */
  default void checkPrecision(Precision precision) {
    if (precision != Precision.FLOAT32) {
      throw new IllegalArgumentException(
          "the engine %s computes in float32 only: leave it out, or use the engine pytorch"
              .formatted(name()));
    }
  }

  /**
   * Loads this engine's libraries early; otherwise the first model loads them. Any thread. A
   * failure is not reported here but when a model is built.
   *
   * @param threads number of threads that one model may compute on
   */
  default void prepare(int threads) {}

  /**
   * Builds a model. The calling thread owns it from then on.
   *
   * @param config the model's name, options, input shape, number of classes and seed
   * @return a model that is used and closed on this thread
   * @throws IllegalArgumentException with a message for the user when there is no such model, its
   *     options are wrong, or it does not fit the input shape or the number of classes
   */
  Model model(ModelConfig config);

  /**
   * Returns the number of parameters of a model if it is known without building the model.
   *
   * @param config the model
   * @return empty when the model must be built to count them
   */
  default OptionalLong parameters(ModelConfig config) {
    return OptionalLong.empty();
  }

  /**
   * Cuts a model into stages without building them. The calling thread builds the stages.
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
   * Creates an update rule with zero state for a partition of {@code length} trainable elements.
   *
   * @param config the optimizer
   * @param length trainable elements of the partition
   * @return a rule for use by one thread
   */
  UpdateRule updateRule(OptimizerConfig config, int length);

  /**
   * Returns what computes, for the records of a run: the versions of the engine's libraries by
   * their names and, on a GPU, {@code gpu} and {@code driver} where the machine names them. Starts
   * nothing.
   *
   * @param device the device that the job names
   * @return texts by name
   */
  default Map<String, String> platform(Device device) {
    return Map.of();
  }

  /**
   * Describes backend, versions, helpers and thread settings, for the {@code doctor} command.
   *
   * @return texts by name
   */
  Map<String, String> describe();

  /**
   * Returns the file name of a trained model in the folder of a run.
   *
   * @param model value of {@code model.name}
   * @return a file name with the customary ending of such files
   */
  default String modelFile(String model) {
    return "model.zip";
  }

  /**
   * Returns the file that a run left in its folder as its trained model.
   *
   * @param run folder of a run of this engine
   * @return the file, whether or not it exists
   */
  default Path modelFileIn(Path run) {
    return run.resolve(modelFile(""));
  }

  /**
   * Returns whether a model's name is the path of a file that this engine reads, not the name of a
   * network or a class. The default knows no files.
   *
   * @param name value of {@code model.name}
   * @return true for a path, whether or not the file exists
   */
  default boolean isModelFile(String name) {
    return false;
  }

  /**
   * Returns the memory that the engine holds outside the heap. It is cheap enough to call every
   * second. Any thread.
   *
   * @return bytes outside the heap
   */
  default NativeMemory memory() {
    return NativeMemory.UNKNOWN;
  }

  /**
   * Returns the use of the GPUs on which this process has models. It is cheap enough to call every
   * second. Any thread.
   *
   * @return {@link GpuUse#NONE} without a GPU
   */
  default GpuUse gpuUse() {
    return GpuUse.NONE;
  }

  /**
   * Returns the name of the engine that computes when a job file names none.
   *
   * @return {@code dl4j}, unless another engine is the only one on the class path
   */
  static String usual() {
    List<String> found = names();
    return found.size() == 1 ? found.get(0) : USUAL;
  }

  /**
   * Returns the names of all engines on the class path.
   *
   * @return in the order in which they were found
   */
  static List<String> names() {
    List<String> found = new ArrayList<>();
    ServiceLoader.load(Engine.class).forEach(engine -> found.add(engine.name()));
    return found;
  }

  /**
   * Returns whether a model's name is the path of a file for an engine on the class path.
   *
   * @param name value of {@code model.name}
   * @return as {@link #isModelFile} of one of the engines
   */
  static boolean isFileOfAny(String name) {
    for (Engine engine : ServiceLoader.load(Engine.class)) {
      if (engine.isModelFile(name)) {
        return true;
      }
    }
    return false;
  }

  /**
   * Creates the engine of this name.
   *
   * @param name as in a job file
   * @return a new engine
   * @throws IllegalArgumentException listing the known names when there is no engine of this name
   */
  static Engine named(String name) {
    for (Engine engine : ServiceLoader.load(Engine.class)) {
      if (engine.name().equals(name)) {
        return engine;
      }
    }
    throw new IllegalArgumentException(
        ("engine '%s' is not on the class path, expected one of: %s; put %s and what it depends on"
                + " into VERTIGRAD_CLASSPATH (docs/guide/pytorch.md)")
            .formatted(
                name,
                String.join(", ", names()),
                name.matches("dl4j|pytorch")
                    ? "the jar io.vertigrad:vertigrad-engine-" + name
                    : "its jar"));
  }
}
