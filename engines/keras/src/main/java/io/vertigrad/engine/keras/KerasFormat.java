package io.vertigrad.engine.keras;

import io.vertigrad.compute.Loss;
import io.vertigrad.engine.dl4j.ModelFormat;
import java.nio.file.Path;
import java.util.Set;
import org.deeplearning4j.nn.api.NeuralNetwork;

/**
 * Reads models that Keras 2 has saved to one HDF5 file. The DL4J engine finds this format through
 * the {@code ServiceLoader}.
 */
public final class KerasFormat implements ModelFormat {

  /** Creates the format; called by the {@code ServiceLoader}. */
  public KerasFormat() {}

  @Override
  public Set<String> endings() {
    return Set.of(".h5", ".hdf5", ".keras");
  }

  @Override
  public NeuralNetwork read(Path file, long seed, Loss loss) {
    KerasFile keras = KerasFile.read(file);
    try {
      return new KerasNetwork(keras, loss).build(seed);
    } catch (RuntimeException e) {
      throw keras.refused(e);
    }
  }
}
