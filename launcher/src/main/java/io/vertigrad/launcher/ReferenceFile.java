package io.vertigrad.launcher;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.formats.SafetensorsFile;
import io.vertigrad.launcher.job.InputException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/**
 * A safetensors file with what another program computed with a model: a batch {@code x} and its
 * targets {@code y}, the model's {@code output} in inference mode for {@code x}, the {@code loss}
 * before each of some steps of plain SGD on this batch, and as {@code after.NAME} every array of
 * the model after these steps. The last two may be missing. Not thread-safe.
 */
final class ReferenceFile implements AutoCloseable {

  static final String OUTPUT = "output";
  static final String LOSS = "loss";
  static final String AFTER = "after.";

  private static final String INPUT = "x";
  private static final String TARGET = "y";

  /** Up to here float32, in which batches hold ids, has every whole number. */
  private static final int MOST_ID = 1 << 24;

  private final Path file;
  private final SafetensorsFile tensors;
  private final List<Integer> input;
  private final List<Integer> target;
  private final List<Integer> output;

  private ReferenceFile(Path file, SafetensorsFile tensors) {
    this.file = file;
    this.tensors = tensors;
    for (String name : List.of(INPUT, TARGET, OUTPUT)) {
      if (!has(name)) {
        throw wrong(
            "holds no tensor %s, expected x, y and output (docs/guide/pytorch.md)".formatted(name));
      }
    }
    this.input = tensors.shape(INPUT);
    this.target = tensors.shape(TARGET);
    this.output = tensors.shape(OUTPUT);
    int samples = input.isEmpty() ? 0 : input.get(0);
    if (samples == 0 || input.contains(0) || output.contains(0)) {
      throw wrong(
          "x has the shape %s and output %s, expected at least one sample and one value of each"
              .formatted(input, output));
    }
    for (List<Integer> other : List.of(target, output)) {
      if (other.isEmpty() || other.get(0) != samples) {
        throw wrong(
            "x, y and output have the shapes %s, %s and %s, expected the same number of samples first"
                .formatted(input, target, output));
      }
    }
    if (!has(LOSS) && tensors.names().stream().anyMatch(name -> name.startsWith(AFTER))) {
      throw wrong("holds %s... but no loss, expected one loss for each step".formatted(AFTER));
    }
  }

  /**
   * Opens a file and checks the shapes of its batch.
   *
   * @throws InputException when a tensor is missing or they do not fit each other
   * @throws io.vertigrad.compute.data.DataException when it is no safetensors file
   */
  static ReferenceFile open(Path file) {
    SafetensorsFile tensors = SafetensorsFile.open(file);
    try {
      return new ReferenceFile(file, tensors);
    } catch (RuntimeException e) {
      tensors.close();
      throw e;
    }
  }

  /** Returns the tensors by name: {@link SafetensorsFile#names} in the file's order. */
  SafetensorsFile tensors() {
    return tensors;
  }

  boolean has(String name) {
    return tensors.names().contains(name);
  }

  /** Returns the loss that targets of this type usually have. */
  Loss usualLoss() {
    return tensors.isWhole(TARGET) ? Loss.CROSS_ENTROPY : Loss.MEAN_SQUARED_ERROR;
  }

  /** Returns one sample's dimensions. */
  List<Integer> sample() {
    return input.subList(1, input.size());
  }

  int samples() {
    return input.get(0);
  }

  /** Returns the last dimension of the output. */
  int lastOutputs() {
    return output.get(output.size() - 1);
  }

  /**
   * Returns what the model predicts for each sample.
   *
   * @throws InputException when targets and output do not fit the loss
   */
  Targets targets(Loss loss) {
    if (loss == Loss.CROSS_ENTROPY) {
      boolean fits =
          tensors.isWhole(TARGET)
              && output.size() > 1
              && output.subList(0, output.size() - 1).equals(target);
      if (!fits) {
        throw wrong(
            "y has the shape %s%s and output %s; for crossEntropy expected whole numbers of the shape of output without its last dimension, the classes"
                .formatted(target, tensors.isWhole(TARGET) ? "" : ", not whole numbers,", output));
      }
      return Targets.classes(lastOutputs(), product(target.subList(1, target.size())));
    }
    if (!target.equals(output)) {
      throw wrong(
          "y has the shape %s and output %s; for %s expected the same shape"
              .formatted(target, output, loss.key()));
    }
    int outputs = product(output.subList(1, output.size()));
    return loss == Loss.BINARY_CROSS_ENTROPY ? Targets.labels(outputs) : Targets.values(outputs);
  }

  /**
   * Returns the number of token ids that a model takes at least.
   *
   * @return 0 when {@code x} holds numbers
   */
  int tokens() {
    return tensors.isWhole(INPUT) ? (int) Arrays.stream(ids()).max().orElse(0) + 1 : 0;
  }

  /**
   * Reads the batch.
   *
   * @param targets as {@link #targets} returns them
   * @throws InputException when a target is no class or label of the model
   */
  Batch batch(Targets targets) {
    int[] labels = {};
    float[] values = {};
    if (targets.kind() == Targets.Kind.CLASS) {
      labels = labels(targets.outputs());
    } else {
      values = floats(TARGET);
    }
    if (targets.kind() == Targets.Kind.LABELS) {
      requireLabels(values);
    }
    return new Batch(samples(), floats(INPUT), labels, values, sample(), 0);
  }

  private int[] labels(int classes) {
    long[] found = tensors.wholes(TARGET);
    int[] labels = new int[found.length];
    for (int i = 0; i < found.length; i++) {
      if (found[i] < 0 || found[i] >= classes) {
        throw wrong(
            "y%s is %s, expected a class from 0 to %s"
                .formatted(Agreement.index(target, i), found[i], classes - 1));
      }
      labels[i] = (int) found[i];
    }
    return labels;
  }

  private void requireLabels(float[] values) {
    for (int i = 0; i < values.length; i++) {
      if (values[i] != 0 && values[i] != 1) {
        throw wrong(
            "y%s is %s, expected a label of 0 or 1 for binaryCrossEntropy"
                .formatted(Agreement.index(target, i), values[i]));
      }
    }
  }

  private float[] floats(String name) {
    if (!tensors.isWhole(name)) {
      return tensors.floats(name);
    }
    long[] wholes = name.equals(INPUT) ? ids() : tensors.wholes(name);
    float[] values = new float[wholes.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = wholes[i];
    }
    return values;
  }

  private long[] ids() {
    long[] ids = tensors.wholes(INPUT);
    for (int i = 0; i < ids.length; i++) {
      if (ids[i] < 0 || ids[i] >= MOST_ID) {
        throw wrong(
            "x%s is %s, expected ids from 0 to %s, or numbers of float32"
                .formatted(Agreement.index(input, i), ids[i], MOST_ID - 1));
      }
    }
    return ids;
  }

  /** Returns the elements of a shape. */
  private int product(List<Integer> shape) {
    try {
      return shape.stream().reduce(1, Math::multiplyExact);
    } catch (ArithmeticException e) {
      throw wrong("%s values for each sample, expected fewer".formatted(shape));
    }
  }

  private InputException wrong(String what) {
    return new InputException(file + ": " + what);
  }

  @Override
  public void close() {
    tensors.close();
  }
}
