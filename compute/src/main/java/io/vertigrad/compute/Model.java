package io.vertigrad.compute;

import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ObjDoubleConsumer;

/**
 * A network on one thread: parameters in, gradients out, all in exchange order (see {@link
 * ParameterLayout}).
 *
 * <p>All calls, including creation and {@link #close()}, must come from the same thread; {@link
 * #deviceRule} names the exceptions.
 */
public interface Model extends AutoCloseable {

  /**
   * Returns the layout of the exchange vector.
   *
   * @return the same layout for the lifetime of the model
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
   * Runs one forward and backward pass in training mode, without an update.
   *
   * <p>Afterwards the gradient can be read: for trainable elements the mean over the batch, for
   * statistics the difference to subtract. Running statistics do not change.
   *
   * @param batch of this model's input shape and classes
   * @return mean training loss of the batch
   */
  double gradient(Batch batch);

  /**
   * Computes a gradient like {@link #gradient(Batch)} and reports the last layers' gradients while
   * those of earlier layers are still being computed. The default reports nothing before the whole
   * gradient is final.
   *
   * @param batch of this model's input shape and classes
   * @param listener receives the final parts before this method returns; parts that were not
   *     reported are final then
   * @return mean training loss of the batch
   */
  default double gradient(Batch batch, GradientListener listener) {
    return gradient(batch);
  }

  /**
   * Receives the batch of the next gradient, which is ready while a GPU may still compute the last
   * one. Another batch may come in its place. The default ignores it.
   *
   * @param next must not change before that gradient
   */
  default void prepareNext(Batch next) {}

  /**
   * Receives where this model reports scalars, such as the norm of a layer's gradient: a name and a
   * value, any time during {@link #gradient(Batch)}. A name is a letter and up to 63 more letters,
   * digits, {@code _}, {@code .} or {@code -}. Called once, before the first gradient of a worker;
   * the default ignores it.
   *
   * @param scalars returns at once
   */
  default void reportTo(ObjDoubleConsumer<String> scalars) {}

  /**
   * Copies the last gradient's {@code [first, first + destination.remaining())} out.
   *
   * @param first element of the exchange vector
   * @param destination from its position to its limit
   */
  void readGradient(int first, FloatBuffer destination);

  /**
   * Creates an update rule that steps this model's parameters where the model computes, so that a
   * step copies neither them nor the gradient to Java. The default leaves the steps to Java.
   *
   * <p>This method, {@link #readParameters}, {@link #writeParameters} and {@link #readGradient} of
   * a model that returns a rule may also be called by another thread while the model's own thread
   * waits for it. The caller makes sure that each call happens before the next.
   *
   * @param config the optimizer, with the norm to which the model's own gradients are clipped
   * @return a rule with zero state, valid until the model is closed; empty when the parameters are
   *     in Java's memory anyway, or the model has no such rule
   */
  default Optional<DeviceUpdateRule> deviceRule(OptimizerConfig config) {
    return Optional.empty();
  }

  /**
   * Returns the number of correct predictions for the last gradient's batch in its forward pass:
   * one per sample, or as many as {@link #answers} returns.
   *
   * @return -1 if the model would need another pass to count them, or if it predicts values
   */
  default int correct() {
    return -1;
  }

  /**
   * Returns the number of predictions per sample that {@link #correct} counts.
   *
   * @return 1 for a class; the number of labels, or of positions with a class each, where a sample
   *     has several
   */
  default int answers() {
    return 1;
  }

  /**
   * Runs one forward pass in inference mode.
   *
   * @param batch of this model's input shape and classes
   * @return the number of samples, the sum of their losses, and the number of correct predictions
   */
  default Score score(Batch batch) {
    return score(batch, 0);
  }

  /**
   * Runs one forward pass in inference mode and also counts the samples whose class is among the
   * most probable classes.
   *
   * @param batch of this model's input shape and classes
   * @param topK number of most probable classes that count; 0 to count none
   * @return the number of samples, the sum of their losses, and the numbers of correct predictions
   */
  Score score(Batch batch, int topK);

  /**
   * Returns the outputs of the network in inference mode. The default scores each class of each
   * sample in a pass of its own; an engine that needs only one pass should override it.
   *
   * @param batch of this model's input shape; its labels are ignored
   * @param classes number of outputs
   * @return for each sample one probability for each class or label, or the values, in single
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
   * Returns what {@link #probabilities} would return for the batch of the last {@link #gradient},
   * if the forward pass of that gradient has computed it. Parameters must not have changed since.
   *
   * @return empty if the forward pass in training computes something else, as with dropout, or the
   *     outputs were not kept
   */
  default Optional<float[]> gradientOutputs() {
    return Optional.empty();
  }

  /**
   * Returns the values by which this model prepares its samples, if it has any besides those of the
   * data set. They are saved with the model, as {@code Dataset.fitted()} is.
   *
   * @return values that JSON can hold
   */
  default Map<String, Object> fitted() {
    return Map.of();
  }

  /**
   * A tensor of the network's state that is not exchanged.
   *
   * @param name as the network's own library has it
   * @param type of its values in safetensors: {@code F32}, {@code I64}, {@code BOOL}
   * @param shape its dimensions; empty for a number
   * @param values little-endian
   */
  record State(String name, String type, List<Integer> shape, ByteBuffer values) {

    /** Copies the shape. */
    public State {
      shape = List.copyOf(shape);
    }
  }

  /**
   * Returns the state that this network's own library keeps beside what is exchanged: counters,
   * tables, and further names of a tensor. The default has none.
   *
   * @return copies, by name
   */
  default List<State> furtherState() {
    return List.of();
  }

  /**
   * Writes the network for another program.
   *
   * @param format such as {@code onnx}
   * @param file is replaced if it exists
   * @throws IOException when it cannot be written
   * @throws IllegalArgumentException with a message for the user when this engine does not write
   *     that format, or not for this network
   */
  default void export(String format, Path file) throws IOException {
    throw new IllegalArgumentException(
        "format %s: the engine of this model does not write it; every engine's models can be written as safetensors"
            .formatted(format));
  }

  /**
   * Writes the engine's own file of configuration and parameters, for DL4J the usual zip.
   *
   * @param file is replaced if it exists
   * @throws IOException when it cannot be written
   */
  void save(Path file) throws IOException;

  @Override
  void close();
}
