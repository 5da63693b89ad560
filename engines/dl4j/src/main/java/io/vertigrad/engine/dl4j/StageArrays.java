package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.List;
import java.util.stream.LongStream;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/**
 * A stage's native arrays for micro-batches of one size: the input, and the target or gradient that
 * its backward pass starts from.
 */
final class StageArrays {

  private final INDArray input;
  private final INDArray target;
  private final BatchArrays labelled;

  /**
   * Creates arrays for micro-batches of one size.
   *
   * @param targets what the model predicts for each sample; null when the next stage's gradient
   *     takes their place
   */
  StageArrays(int samples, StageSpec spec, Targets targets) {
    labelled = targets != null ? new BatchArrays(samples, spec.input(), targets) : null;
    input = targets != null ? labelled.features() : create(samples, spec.input());
    target = targets != null ? labelled.labels() : create(samples, spec.output());
  }

  INDArray input() {
    return input;
  }

  /** Returns the labels, or the gradient of the stage's output. */
  INDArray target() {
    return target;
  }

  void fill(Batch batch) {
    labelled.fill(batch);
  }

  void fill(float[] values) {
    put("input", values, input);
  }

  void fill(float[] values, float[] gradient) {
    fill(values);
    put("gradient", gradient, target);
  }

  private static void put(String what, float[] values, INDArray array) {
    if (values.length != array.length()) {
      throw new IllegalArgumentException(
          "%s of %s values, expected %s".formatted(what, values.length, array.length()));
    }
    FloatBuffer memory = NativeFloats.of(array);
    memory.put(values);
    NativeFloats.written(array);
  }

  private static INDArray create(int samples, List<Integer> sample) {
    long[] shape =
        LongStream.concat(LongStream.of(samples), sample.stream().mapToLong(Integer::longValue))
            .toArray();
    return Nd4j.create(DataType.FLOAT, shape, 'c');
  }
}
