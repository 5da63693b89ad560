package io.vertigrad.internal.exchange;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.compute.Model;
import io.vertigrad.job.Partition;
import java.nio.FloatBuffer;

/**
 * Copies partitions between a model and tensors, with one bulk copy each way for float32.
 *
 * <p>Belongs to the model's thread.
 */
public final class ModelPartitions {

  private final Model model;
  private final DataType type;
  private FloatBuffer scratch = FloatBuffer.allocate(0);

  /**
   * @param type data type of gradients in frames
   */
  public ModelPartitions(Model model, DataType type) {
    this.model = model;
    this.type = type;
  }

  /** Copies a partition of the last gradient, in the exchange type, into the pool's memory. */
  public BorrowedTensor gradient(Partition partition, TensorMemory memory) {
    if (type == DataType.FLOAT32) {
      return memory.make(
          partition.length(), elements -> model.readGradient(partition.first(), elements));
    }
    FloatBuffer values = scratch(partition.length());
    model.readGradient(partition.first(), values);
    return memory.copyOf(type, values.flip());
  }

  /** Copies a partition's parameters into the model. */
  public void write(Partition partition, TensorView parameters) {
    if (parameters.isPlain()) {
      model.writeParameters(partition.first(), parameters.bytes().asFloatBuffer());
      return;
    }
    FloatBuffer values = scratch(partition.length());
    parameters.copyTo(values);
    model.writeParameters(partition.first(), values.flip());
  }

  private FloatBuffer scratch(int length) {
    if (scratch.capacity() < length) {
      scratch = FloatBuffer.allocate(length);
    }
    return scratch.clear().limit(length);
  }
}
