package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Loss;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/** Reads a network from a file of another program with the {@link ModelFormat} for its ending. */
final class ForeignFile {

  /** Endings of Keras files, whose format is in a separate artifact. */
  private static final Set<String> KERAS = Set.of(".h5", ".hdf5", ".keras");

  private ForeignFile() {}

  /**
   * Returns true when a name ends like a file of another program, even if no format here reads it.
   */
  static boolean isOne(String name) {
    return KERAS.contains(ending(name)) || found(name).isPresent();
  }

  /**
   * Returns the format for a file.
   *
   * @throws IllegalArgumentException naming the missing artifact; the message has no subject
   */
  static ModelFormat format(String name) {
    return found(name)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "a Keras model; reading it needs io.vertigrad:vertigrad-keras, which is not"
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
