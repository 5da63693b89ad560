package io.vertigrad.verticles.exchange;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Model;
import io.vertigrad.verticles.job.Partition;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/**
 * Moves partitions between a model and tensors, one bulk copy each way for float32.
 *
 * <p>Belongs to the model's thread.
 */
public final class ModelPartitions {

  private final Model model;
  private final DataType type;
  private FloatBuffer scratch = FloatBuffer.allocate(0);

  /**
   * @param type how gradients are stored in frames
   */
  public ModelPartitions(Model model, DataType type) {
    this.model = model;
    this.type = type;
  }

  /** A copy of the last gradient's partition, rounded to the exchange type. */
  public Tensor gradient(Partition partition) {
    if (type != DataType.FLOAT32) {
      FloatBuffer values = scratch(partition.length());
      model.readGradient(partition.first(), values);
      return Tensor.copyOf(type, values.flip());
    }
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.multiplyExact(partition.length(), DataType.FLOAT32.bytes()))
            .order(ByteOrder.LITTLE_ENDIAN);
    model.readGradient(partition.first(), bytes.asFloatBuffer());
    return Tensor.wrap(type, bytes);
  }

  /** Copies a partition's parameters into the model. */
  public void write(Partition partition, Tensor parameters) {
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
