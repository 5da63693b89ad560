package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Loss;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/** A network in a file of another program, read by the {@link ModelFormat} for its ending. */
final class ForeignFile {

  /** Of Keras, whose format is an artifact of its own. */
  private static final Set<String> KERAS = Set.of(".h5", ".hdf5", ".keras");

  private ForeignFile() {}

  /** Whether a name ends as a file of another program does, whether or not it can be read here. */
  static boolean isOne(String name) {
    return KERAS.contains(ending(name)) || found(name).isPresent();
  }

  /**
   * The format for a file.
   *
   * @throws IllegalArgumentException saying which artifact is missing; begins without a subject
   */
  static ModelFormat format(String name) {
    return found(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "a model of Keras, which io.vertigrad:vertigrad-keras reads, and that is not"
                        + " on the class path: start with ./vertigrad of the repository, which"
                        + " builds and adds it for files that end in .h5 (VERTIGRAD_ENGINE=keras"
                        + " does so for a node), or name its jars in VERTIGRAD_CLASSPATH"));
  }

  static NeuralNetwork read(Path file, long seed, Loss loss) {
    if (!Files.isRegularFile(file)) {
      throw new IllegalArgumentException(
          "model %s: no such file, expected a model of Keras".formatted(file));
    }
    ModelFormat format;
    try {
      format = format(file.toString());
    } catch (IllegalArgumentException missing) {
      throw new IllegalArgumentException(
          "model %s: is %s".formatted(file, missing.getMessage()), missing);
    }
    return format.read(file, seed, loss);
  }

  private static Optional<ModelFormat> found(String name) {
    for (ModelFormat format : ServiceLoader.load(ModelFormat.class)) {
      if (format.endings().contains(ending(name))) {
        return Optional.of(format);
      }
    }
    return Optional.empty();
  }

  private static String ending(String name) {
    int dot = name.lastIndexOf('.');
    return dot < 0 ? "" : name.substring(dot).toLowerCase(Locale.ROOT);
  }
}
