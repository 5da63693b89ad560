package io.vertigrad.streams.internal;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ObjDoubleConsumer;

/**
 * A model that normalises numbers by their running mean and deviation before the network sees them.
 * Mean, variance and their weight are statistics of the model: they are averaged, saved and read
 * like those of batch normalisation.
 *
 * <p>Statistics move by a constant share of the difference to the batch. They begin at 0, so what
 * they lack of 1 is known from the weight and divided out. A batch without samples has a gradient
 * of zero. Real targets are normalised, too, and predictions are in their unit.
 */
final class NormalizedModel implements Model {

  /** Name of the statistics among the fitted values of a saved model. */
  static final String FITTED = "running";

  private static final float LIMIT = 10;

  /**
   * Largest deviation, as a share of the mean, of a number that counts as constant. A statistic
   * moves by a share of its error, and stops where that is less than half of its last digit: with a
   * share of 0.002, 1.5e-5 of its value off. Smaller deviations are errors of rounding.
   */
  private static final double CONSTANT = 3e-5;

  private static final String PREFIX = "normalization.";

  private final Model network;
  private final int[] columns;
  private final int targets;
  private final float rate;
  private final ParameterLayout layout;
  private final int inner;

  /** Means, variances and the weight, as they are in the exchange vector after the network. */
  private final float[] statistics;

  private final float[] differences;
  private final float[] shift;
  private final float[] scale;
  private boolean changed = true;
  private Batch normalizedOf;
  private Batch normalized;
  private boolean empty;

  /**
   * Creates the model; it owns the network.
   *
   * @param columns indices of the features that are normalised
   * @param targets number of real targets; 0 for classes
   * @param rate share of a batch in the statistics
   * @param saved the statistics of a saved model; empty to begin without
   */
  NormalizedModel(Model network, int[] columns, int targets, float rate, List<?> saved) {
    this.network = network;
    this.columns = columns.clone();
    this.targets = targets;
    this.rate = rate;
    int count = columns.length + targets;
    this.statistics = new float[2 * count + 1];
    this.differences = new float[statistics.length];
    this.shift = new float[count];
    this.scale = new float[count];
    if (saved.size() == statistics.length) {
      for (int i = 0; i < statistics.length; i++) {
        statistics[i] = ((Number) saved.get(i)).floatValue();
      }
    }
    List<Block> blocks = new ArrayList<>(network.layout().blocks());
    if (count > 0) {
      blocks.add(statistic("mean", count));
      blocks.add(statistic("variance", count));
      blocks.add(statistic("weight", 1));
    }
    this.layout = new ParameterLayout(blocks);
    this.inner = network.layout().length();
  }

  private static Block statistic(String name, int length) {
    return new Block(PREFIX + name, List.of(length), Block.Kind.STATISTIC);
  }

  @Override
  public ParameterLayout layout() {
    return layout;
  }

  @Override
  public void reportTo(ObjDoubleConsumer<String> scalars) {
    network.reportTo(scalars);
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    FloatBuffer own = ownPart(first, destination);
    if (destination.hasRemaining()) {
      network.readParameters(first, destination);
    }
    own.put(statistics, Math.max(0, first - inner), own.remaining());
    destination.limit(own.limit()).position(own.limit());
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    FloatBuffer own = ownPart(first, source);
    if (source.hasRemaining()) {
      network.writeParameters(first, source);
    }
    if (own.hasRemaining()) {
      own.get(statistics, Math.max(0, first - inner), own.remaining());
      changed = true;
    }
    source.limit(own.limit()).position(own.limit());
  }

  /**
   * Limits a buffer to the elements of the network and returns the rest, which belongs to the
   * statistics.
   */
  private FloatBuffer ownPart(int first, FloatBuffer buffer) {
    int ofNetwork = Math.max(0, Math.min(buffer.remaining(), inner - first));
    FloatBuffer own = buffer.duplicate();
    own.position(buffer.position() + ofNetwork);
    buffer.limit(buffer.position() + ofNetwork);
    return own;
  }

  @Override
  public double gradient(Batch batch) {
    return gradient(batch, null);
  }

  @Override
  public double gradient(Batch batch, GradientListener listener) {
    empty = batch.count() == 0;
    Arrays.fill(differences, 0);
    if (empty) {
      return 0;
    }
    Batch input = normalized(batch);
    for (int i = 0; i < columns.length; i++) {
      observe(i, batch.features(), columns[i], batch.features().length / batch.count());
    }
    for (int i = 0; i < targets; i++) {
      observe(columns.length + i, batch.targets(), i, targets);
    }
    differences[differences.length - 1] = rate * (statistics[statistics.length - 1] - 1);
    return listener == null ? network.gradient(input) : network.gradient(input, listener);
  }

  /** Computes by how much the statistics of a column differ from those with the batch. */
  private void observe(int column, float[] from, int first, int stride) {
    int count = columns.length + targets;
    double sum = 0;
    int known = 0;
    for (int i = first; i < from.length; i += stride) {
      if (!Float.isNaN(from[i])) {
        sum += from[i];
        known++;
      }
    }
    // A batch without a value of this column shows what the statistics say.
    float weight = statistics[statistics.length - 1];
    float before = weight == 0 ? 0 : statistics[column] / weight;
    float variance = weight == 0 ? 0 : statistics[count + column] / weight;
    float mean = known == 0 ? before : (float) (sum / known);
    float after = weight == 0 ? mean : before + rate * (mean - before);
    double squares = 0;
    for (int i = first; i < from.length; i += stride) {
      if (!Float.isNaN(from[i])) {
        squares += (from[i] - after) * (double) (from[i] - after);
      }
    }
    float spread = known == 0 ? variance : (float) (squares / known);
    differences[column] = rate * (statistics[column] - mean);
    differences[count + column] = rate * (statistics[count + column] - spread);
  }

  /** Returns the batch as the network takes it; the same batch is normalised once. */
  private Batch normalized(Batch batch) {
    if (!changed && normalizedOf == batch) {
      return normalized;
    }
    prepare(batch);
    int width = batch.features().length / batch.count();
    float[] features = batch.features().clone();
    for (int i = 0; i < columns.length; i++) {
      apply(i, features, columns[i], width);
    }
    float[] values = batch.targets();
    if (targets > 0 && values.length > 0) {
      values = values.clone();
      for (int i = 0; i < targets; i++) {
        apply(columns.length + i, values, i, targets);
      }
    }
    normalized =
        new Batch(batch.count(), features, batch.labels(), values, batch.shape(), batch.epoch());
    normalizedOf = batch;
    return normalized;
  }

  private void apply(int column, float[] values, int first, int stride) {
    for (int i = first; i < values.length; i += stride) {
      float value = (values[i] - shift[column]) * scale[column];
      values[i] = Float.isNaN(value) ? 0 : Math.max(-LIMIT, Math.min(LIMIT, value));
    }
  }

  /** Computes shift and scale from the statistics, or from the first batch if there are none. */
  private void prepare(Batch batch) {
    if (!changed) {
      return;
    }
    float weight = statistics[statistics.length - 1];
    int count = columns.length + targets;
    for (int i = 0; i < count; i++) {
      float mean;
      float variance;
      if (weight > 0) {
        mean = statistics[i] / weight;
        variance = statistics[count + i] / weight;
      } else if (i < columns.length) {
        float[] own =
            moments(batch.features(), columns[i], batch.features().length / batch.count());
        mean = own[0];
        variance = own[1];
      } else {
        mean = 0;
        variance = 1;
      }
      double deviation = Math.sqrt(Math.max(0, variance));
      shift[i] = mean;
      scale[i] = deviation > CONSTANT * Math.abs(mean) + 1e-20 ? (float) (1 / deviation) : 0;
    }
    changed = weight == 0;
  }

  private static float[] moments(float[] from, int first, int stride) {
    double sum = 0;
    double squares = 0;
    int known = 0;
    for (int i = first; i < from.length; i += stride) {
      if (!Float.isNaN(from[i])) {
        sum += from[i];
        known++;
      }
    }
    double mean = known == 0 ? 0 : sum / known;
    for (int i = first; i < from.length; i += stride) {
      if (!Float.isNaN(from[i])) {
        squares += (from[i] - mean) * (from[i] - mean);
      }
    }
    return new float[] {(float) mean, known == 0 ? 1 : (float) (squares / known)};
  }

  @Override
  public void readGradient(int first, FloatBuffer destination) {
    if (empty) {
      while (destination.hasRemaining()) {
        destination.put(0);
      }
      return;
    }
    FloatBuffer own = ownPart(first, destination);
    if (destination.hasRemaining()) {
      network.readGradient(first, destination);
    }
    own.put(differences, Math.max(0, first - inner), own.remaining());
    destination.limit(own.limit()).position(own.limit());
  }

  @Override
  public int correct() {
    return empty ? 0 : network.correct();
  }

  @Override
  public int answers() {
    return network.answers();
  }

  @Override
  public Score score(Batch batch, int topK) {
    return network.score(normalized(batch), topK);
  }

  @Override
  public float[] probabilities(Batch batch, int classes) {
    return denormalized(network.probabilities(normalized(batch), classes));
  }

  @Override
  public Optional<float[]> gradientOutputs() {
    return empty ? Optional.empty() : network.gradientOutputs().map(this::denormalized);
  }

  private float[] denormalized(float[] outputs) {
    for (int i = 0; targets > 0 && i < outputs.length; i++) {
      int column = columns.length + i % targets;
      outputs[i] = scale[column] == 0 ? shift[column] : outputs[i] / scale[column] + shift[column];
    }
    return outputs;
  }

  @Override
  public Map<String, Object> fitted() {
    List<Object> values = new ArrayList<>();
    for (float statistic : statistics) {
      values.add((double) statistic);
    }
    return Map.of(FITTED, values);
  }

  @Override
  public void export(String format, Path file) throws IOException {
    network.export(format, file);
  }

  @Override
  public void save(Path file) throws IOException {
    network.save(file);
  }

  @Override
  public void close() {
    network.close();
  }
}
