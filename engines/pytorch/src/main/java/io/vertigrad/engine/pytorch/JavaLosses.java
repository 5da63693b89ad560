package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import java.nio.ByteBuffer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Computes losses in Java, which reads outputs in place. */
final class JavaLosses implements Losses {

  private final ModelConfig config;
  private ByteBuffer gradient = ByteBuffer.allocateDirect(0);
  private BatchLoss last;

  JavaLosses(ModelConfig config) {
    this.config = config;
  }

  @Override
  public Tensor gradient(Tensor output, Batch batch, Tensor targets, float scale) {
    last = of(output);
    int bytes = Math.multiplyExact(Math.toIntExact(output.numel()), Float.BYTES);
    gradient = TensorBuffers.atLeast(gradient, bytes);
    last.gradient(batch, gradient.asFloatBuffer(), scale);
    return TensorBuffers.tensor(gradient, ScalarType.Float, output.shape());
  }

  @Override
  public double lossSum() {
    return last.lossSum();
  }

  @Override
  public int correct() {
    return last.correct();
  }

  @Override
  public Score score(Tensor output, Batch batch, Tensor targets, int topK) {
    return of(output).score(batch, topK);
  }

  @Override
  public float[] probabilities(Tensor output) {
    return of(output).probabilities();
  }

  @Override
  public void close() {}

  private BatchLoss of(Tensor output) {
    return BatchLoss.of(config, TensorBuffers.values(output));
  }
}
