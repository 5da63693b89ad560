package io.vertigrad.compute;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.compute.optimizer.UpdateRule;
import io.vertigrad.compute.pipeline.SplitConfig;
import io.vertigrad.compute.pipeline.SplitModel;
import java.util.Map;
import java.util.ServiceLoader;

/** A library that computes: builds models and update rules. Found by name through ServiceLoader. */
public interface Engine {

  /** The name used in job files, for example {@code dl4j}. */
  String name();

  /**
   * Builds a model on the calling thread, which from then on owns it.
   *
   * @throws IllegalArgumentException with a message for the user when there is no such model, its
   *     options are wrong, or it does not fit the input shape or the number of classes
   */
  Model model(ModelConfig config);

  /**
   * Cuts a model into stages on the calling thread; builds none of them yet.
   *
   * @throws IllegalArgumentException with the reason when it cannot be built or cut there, or when
   *     this engine cannot cut models
   */
  default SplitModel split(ModelConfig config, SplitConfig split) {
    throw new IllegalArgumentException(
        "engine %s cannot cut a model into stages".formatted(name()));
  }

  /** A fresh update rule with zero state for a partition of {@code length} trainable elements. */
  UpdateRule updateRule(OptimizerConfig config, int length);

  /** Backend, versions, helpers and thread settings, for the run's summary and for the doctor. */
  Map<String, String> describe();

  /** What it holds outside the heap now; cheap enough for once a second, from any thread. */
  default NativeMemory memory() {
    return NativeMemory.UNKNOWN;
  }

  /** The engine of this name. */
  static Engine named(String name) {
    StringBuilder found = new StringBuilder();
    for (Engine engine : ServiceLoader.load(Engine.class)) {
      if (engine.name().equals(name)) {
        return engine;
      }
      found.append(found.isEmpty() ? "" : ", ").append(engine.name());
    }
    throw new IllegalArgumentException(
        "engine '%s' is not on the class path, expected one of: %s; name another's jar in VERTIGRAD_CLASSPATH"
            .formatted(name, found));
  }
}
