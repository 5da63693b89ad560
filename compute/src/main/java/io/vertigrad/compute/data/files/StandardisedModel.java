package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ObjDoubleConsumer;

/**
 * A model of standardised values that answers in the values' own units. Its loss stays in standard
 * deviations, as it is trained; its score has the errors of each value besides.
 */
final class StandardisedModel implements Model {

  private final Model network;
  private final List<TargetColumn> columns;

  /** Creates the model; it owns the network. */
  StandardisedModel(Model network, List<TargetColumn> columns) {
    this.network = network;
    this.columns = List.copyOf(columns);
  }

  @Override
  public Score score(Batch batch, int topK) {
    float[] outputs = network.probabilities(batch, columns.size());
    return TargetColumn.score(columns, batch.count(), outputs, batch.targets());
  }

  @Override
  public float[] probabilities(Batch batch, int classes) {
    return inUnits(network.probabilities(batch, classes));
  }

  @Override
  public Optional<float[]> gradientOutputs() {
    return network.gradientOutputs().map(this::inUnits);
  }

  private float[] inUnits(float[] outputs) {
    float[] values = new float[outputs.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) columns.get(i % columns.size()).value(outputs[i]);
    }
    return values;
  }

  @Override
  public ParameterLayout layout() {
    return network.layout();
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    network.readParameters(first, destination);
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    network.writeParameters(first, source);
  }

  @Override
  public double gradient(Batch batch) {
    return network.gradient(batch);
  }

  @Override
  public double gradient(Batch batch, GradientListener listener) {
    return network.gradient(batch, listener);
  }

  @Override
  public void prepareNext(Batch next) {
    network.prepareNext(next);
  }

  @Override
  public void reportTo(ObjDoubleConsumer<String> scalars) {
    network.reportTo(scalars);
  }

  @Override
  public void readGradient(int first, FloatBuffer destination) {
    network.readGradient(first, destination);
  }

  @Override
  public Optional<DeviceUpdateRule> deviceRule(OptimizerConfig config) {
    return network.deviceRule(config);
  }

  @Override
  public int correct() {
    return network.correct();
  }

  @Override
  public int answers() {
    return network.answers();
  }

  @Override
  public Map<String, Object> fitted() {
    return network.fitted();
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
