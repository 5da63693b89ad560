package io.vertigrad.benchmarks.exchange;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A model of any size whose gradient is always the same and available at once. It records the time
 * of each request for a gradient, which is also the end of the round before.
 */
final class SyntheticModel implements Model {

  private static final float GRADIENT = 1e-6f;

  private final ParameterLayout layout;
  private final float[] parameters;
  private final float[] gradient;
  private final List<Long> gradientNanos = new ArrayList<>();

  SyntheticModel(int length) {
    this(layout(length), new float[length], new float[length]);
    Arrays.fill(gradient, GRADIENT);
  }

  private SyntheticModel(ParameterLayout layout, float[] parameters, float[] gradient) {
    this.layout = layout;
    this.parameters = parameters;
    this.gradient = gradient;
  }

  /** Returns another model in the same memory. */
  SyntheticModel sharing() {
    return new SyntheticModel(layout, parameters, gradient);
  }

  /** Returns a layout with one trainable block. */
  static ParameterLayout layout(int length) {
    return new ParameterLayout(
        List.of(new Block("synthetic.W", List.of(length), Block.Kind.TRAINABLE)));
  }

  @Override
  public ParameterLayout layout() {
    return layout;
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    destination.put(parameters, first, destination.remaining());
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    source.get(parameters, first, source.remaining());
  }

  @Override
  public double gradient(Batch batch) {
    gradientNanos.add(System.nanoTime());
    return 0;
  }

  /** Returns the monotonic time of every request for a gradient. */
  long[] gradientNanos() {
    return gradientNanos.stream().mapToLong(Long::longValue).toArray();
  }

  @Override
  public void readGradient(int first, FloatBuffer destination) {
    destination.put(gradient, first, destination.remaining());
  }

  @Override
  public Score score(Batch batch, int topK) {
    return Score.NONE;
  }

  @Override
  public void save(Path file) {
    throw new UnsupportedOperationException("a synthetic model has nothing worth keeping");
  }

  @Override
  public void close() {}
}
