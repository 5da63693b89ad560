package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** Adapts a DL4J network to {@link Model}. */
final class Dl4jModel implements Model {

  private static final int KEPT_BATCH_SIZES = 4;
  private static final String OUTPUT = "VERTIGRAD_OUTPUT";
  private static final WorkspaceConfiguration OUTPUT_MEMORY =
      WorkspaceConfiguration.builder()
          .policyAllocation(AllocationPolicy.STRICT)
          .policyLearning(LearningPolicy.OVER_TIME)
          .build();

  private final Network network;
  private final List<Integer> inputShape;
  private final List<Integer> sample;
  private final ModelConfig config;
  private final int classes;

  /** Number of losses that DL4J sums for a sample, where ours is their mean. */
  private final int lossesPerSample;

  private final SegmentTable table;
  private final FlatVector parameters;
  private final FlatVector gradients;
  private final FinalElements finalElements;
  private final Map<Integer, BatchArrays> arrays =
      new LinkedHashMap<>(8, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Integer, BatchArrays> eldest) {
          return size() > KEPT_BATCH_SIZES;
        }
      };

  private final Thread owner = Thread.currentThread();

  private int lastCount = 1;

  /**
   * Creates a model from a network that fits the data.
   *
   * @param config from which the network was built
   * @param sample one sample's dimensions as the network takes them
   */
  Dl4jModel(Network network, ModelConfig config, List<Integer> sample) {
    this.network = network;
    this.config = config;
    this.inputShape = config.inputShape();
    this.sample = List.copyOf(sample);
    this.classes = config.classes();
    this.lossesPerSample = lossesPerSample(config);
    this.table = SegmentTable.of(network);
    this.parameters = new FlatVector(network.parameters(), table);
    this.gradients = new FlatVector(network.gradients(), table);
    this.finalElements = new FinalElements(table.layout());
    network.onLayerGradientFinal(finalElements::layerDone);
  }

  /** Returns the number of losses that DL4J sums for a sample. */
  static int lossesPerSample(ModelConfig config) {
    return config.loss() == Loss.BINARY_CROSS_ENTROPY ? config.classes() : 1;
  }

  @Override
  public ParameterLayout layout() {
    return table.layout();
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    parameters.read(first, destination);
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    parameters.write(first, source);
  }

  @Override
  public double gradient(Batch batch) {
    BatchArrays filled = filled(batch);
    lastCount = batch.count();
    return network.gradient(filled.features(), filled.labels()) / lossesPerSample;
  }

  @Override
  public double gradient(Batch batch, GradientListener listener) {
    finalElements.begin(listener);
    double loss = gradient(batch);
    finalElements.end();
    return loss;
  }

  /**
   * Copies the gradient out and divides it in the same pass: the engine computes the sum over the
   * batch.
   */
  @Override
  public void readGradient(int first, FloatBuffer destination) {
    gradients.read(first, destination, 1f / (lastCount * lossesPerSample));
  }

  @Override
  public int correct() {
    return network.correct();
  }

  @Override
  public Optional<float[]> gradientOutputs() {
    return network.gradientOutputs();
  }

  @Override
  public int answers() {
    return config.targets().answers();
  }

  @Override
  public Score score(Batch batch, int topK) {
    return Probabilities.score(
        outputs(filled(batch), batch.count()), batch, config.loss(), config.metric(), topK);
  }

  @Override
  public float[] probabilities(Batch batch, int outputs) {
    BatchArrays filled = arrays(batch);
    filled.fillFeatures(batch);
    return outputs(filled, batch.count());
  }

  private float[] outputs(BatchArrays filled, int count) {
    float[] probabilities = new float[count * classes];
    try (MemoryWorkspace workspace =
        Nd4j.getWorkspaceManager().getAndActivateWorkspace(OUTPUT_MEMORY, OUTPUT)) {
      INDArray output = network.output(filled.features(), workspace);
      INDArray rows = NativeFloats.rows(output);
      NativeFloats.fetch(rows);
      NativeFloats.of(rows).get(probabilities);
    }
    return probabilities;
  }

  @Override
  public void export(String format, Path file) throws IOException {
    switch (format) {
      case "dl4j" -> save(file);
      case "onnx" -> network.exportOnnx(file, inputShape, sample, classes);
      default ->
          throw new IllegalArgumentException(
              "format %s: the engine dl4j does not write it, expected one of dl4j, onnx, safetensors"
                  .formatted(format));
    }
  }

  @Override
  public void save(Path file) throws IOException {
    network.save(file);
  }

  @Override
  public void close() {
    arrays.clear();
    NativeMemoryWatchdog.freeWorkspaces(layout().length());
  }

  private BatchArrays filled(Batch batch) {
    BatchArrays filled = arrays(batch);
    filled.fill(batch);
    return filled;
  }

  private BatchArrays arrays(Batch batch) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "model used by thread %s, expected %s, which made it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    if (batch.count() == 0) {
      throw new IllegalArgumentException("batch of 0 samples: expected at least 1");
    }
    return arrays.computeIfAbsent(
        batch.count(), count -> new BatchArrays(count, sample, config.targets()));
  }
}
