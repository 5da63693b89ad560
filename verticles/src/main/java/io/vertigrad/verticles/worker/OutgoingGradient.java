package io.vertigrad.verticles.worker;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.optimizer.GradientClip;
import io.vertigrad.verticles.exchange.ModelPartitions;
import io.vertigrad.verticles.job.Partition;
import java.nio.FloatBuffer;

/**
 * A model's last gradient as tensors, clipped to a norm where the job asks for it.
 *
 * <p>{@link GradientClip} over all trainable elements together; statistics are never clipped. A
 * gradient that is not finite is left as it is: the servers refuse and count it. Belongs to the
 * model's thread.
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
    float factor = GradientClip.factor(GradientClip.norm(FloatBuffer.wrap(trainable)), clipNorm);
    clipped = factor < 1;
    if (clipped) {
      scale(trainable, factor);
    }
  }

  /** A copy of one partition. */
  Tensor partition(Partition partition) {
    return clipped && partition.kind() == Block.Kind.TRAINABLE
        ? Tensor.copyOf(type, FloatBuffer.wrap(trainable, partition.first(), partition.length()))
        : partitions.gradient(partition);
  }

  private static void scale(float[] values, float factor) {
    for (int i = 0; i < values.length; i++) {
      values[i] *= factor;
    }
  }
}
