package io.vertigrad.verticles.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.verticles.exchange.ModelPartitions;
import io.vertigrad.verticles.job.Partition;
import java.nio.FloatBuffer;

/**
 * A model's last gradient as tensors, clipped to a norm where the job asks for it.
 *
 * <p>Clipping is {@code g *= min(1, clipNorm / ||g||)} over all trainable elements together, as in
 * Pascanu et al. 2013. Statistics are never clipped. A gradient that is not finite is left as it
 * is: the servers refuse and count it. Belongs to the model's thread.
 */
final class OutgoingGradient {

  private final Model model;
  private final ModelPartitions partitions;
  private final DataType type;
  private final double clipNorm;
  private final float[] trainable;
  private boolean clipped;

  OutgoingGradient(Model model, ModelPartitions partitions, DataType type, double clipNorm) {
    this.model = model;
    this.partitions = partitions;
    this.type = type;
    this.clipNorm = clipNorm;
    this.trainable = new float[clipNorm > 0 ? model.layout().trainable() : 0];
  }

  /** Looks at a new gradient; call before its first partition is taken. */
  void computed() {
    if (clipNorm == 0) {
      return;
    }
    model.readGradient(0, FloatBuffer.wrap(trainable));
    double norm = norm(trainable);
    clipped = norm > clipNorm && norm < Double.POSITIVE_INFINITY;
    if (clipped) {
      scale(trainable, (float) (clipNorm / norm));
    }
  }

  /** A copy of one partition. */
  Tensor partition(Partition partition) {
    return clipped && partition.kind() == Block.Kind.TRAINABLE
        ? Tensor.copyOf(
            type, FloatBuffer.wrap(trainable, partition.first(), partition.length()))
        : partitions.gradient(partition);
  }

  private static double norm(float[] values) {
    double sum = 0;
    for (float value : values) {
      sum += (double) value * value;
    }
    return Math.sqrt(sum);
  }

  private static void scale(float[] values, float factor) {
    for (int i = 0; i < values.length; i++) {
      values[i] *= factor;
    }
  }
}
