package io.vertigrad.compute;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A network on one thread: parameters in, gradients out, all in exchange order (see {@link
 * ParameterLayout}).
 *
 * <p>Every call, creation and {@link #close()} included, must come from one and the same thread.
 */
public interface Model extends AutoCloseable {

  /**
   * Says how the exchange vector is laid out.
   *
   * @return the same layout for as long as the model lives
   */
  ParameterLayout layout();

  /**
   * Copies parameters {@code [first, first + destination.remaining())} out; fills the buffer.
   *
   * @param first element of the exchange vector
   * @param destination from its position to its limit
   */
  void readParameters(int first, FloatBuffer destination);

  /**
   * Copies parameters {@code [first, first + source.remaining())} in; consumes the buffer.
   *
   * @param first element of the exchange vector
   * @param source from its position to its limit
   */
  void writeParameters(int first, FloatBuffer source);

  /**
   * One forward and backward pass in training mode, without an update.
   *
   * <p>Leaves behind the gradient: the mean over the batch for trainable elements, and for
   * statistics the difference to subtract. Running statistics themselves do not move.
   *
   * @param batch of this model's input shape and classes
   * @return mean training loss of the batch
   */
  double gradient(Batch batch);

  /**
   * The same, for one who can use the last layers' gradients while those of earlier layers are
   * computed. An engine that cannot tell says nothing before all of it is there, as here.
   *
   * @param batch of this model's input shape and classes
   * @param listener hears what is final before this returns; what it was not told of is then
   * @return mean training loss of the batch
   */
  default double gradient(Batch batch, GradientListener listener) {
    return gradient(batch);
  }

  /**
   * Copies the last gradient's {@code [first, first + destination.remaining())} out.
   *
   * @param first element of the exchange vector
   * @param destination from its position to its limit
   */
  void readGradient(int first, FloatBuffer destination);

  /**
   * How many answers of the last gradient's batch were right in its forward pass: one for each
   * sample, or as many as {@link #answers} says.
   *
   * @return -1 where the model cannot tell without another pass, or tells values
   */
  default int correct() {
    return -1;
  }

  /**
   * How many answers of a sample are either right or wrong, where {@link #correct} counts them.
   *
   * @return 1 for a class; the number of labels, or of positions with a class each, where a sample
   *     has several
   */
  default int answers() {
    return 1;
  }

  /**
   * One forward pass in inference mode.
   *
   * @param batch of this model's input shape and classes
   * @return the samples, the sum of their losses, and how many were right
   */
  default Score score(Batch batch) {
    return score(batch, 0);
  }

  /**
   * The same, with a count of the samples whose class is among the most probable.
   *
   * @param batch of this model's input shape and classes
   * @param topK how many of the most probable classes count; 0 to count none
   * @return the samples, the sum of their losses, and how many were right
   */
  Score score(Batch batch, int topK);

  /**
   * What the network answers in inference mode. An engine that can tell in one pass should override
   * it; here it is asked for a score for each class of each sample.
   *
   * @param batch of this model's input shape; its labels do not count
   * @param classes number of outputs
   * @return sample after sample one probability for each class or label, or the values, in single
   *     precision
   */
  default float[] probabilities(Batch batch, int classes) {
    float[] probabilities = new float[batch.count() * classes];
    int length = batch.features().length / batch.count();
    for (int i = 0; i < probabilities.length; i++) {
      int first = i / classes * length;
      float[] sample = Arrays.copyOfRange(batch.features(), first, first + length);
      int[] label = {i % classes};
      double loss = score(new Batch(sample, label, batch.shape(), batch.epoch())).lossSum();
      probabilities[i] = (float) Math.exp(-loss);
    }
    return probabilities;
  }

  /**
   * Writes the network for another program.
   *
   * @param format such as {@code onnx}
   * @param file is written anew
   * @throws IOException when it cannot be written
   * @throws IllegalArgumentException with a message for the user when this engine does not write
   *     that format, or not this network
   */
  default void export(String format, Path file) throws IOException {
    throw new IllegalArgumentException(
        "format %s: the engine of this model does not write it; every engine's models can be written as safetensors"
            .formatted(format));
  }

  /**
   * Writes the engine's own file of configuration and parameters, for DL4J the usual zip.
   *
   * @param file is written anew
   * @throws IOException when it cannot be written
   */
  void save(Path file) throws IOException;

  @Override
  void close();
}
