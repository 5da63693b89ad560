package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** One pipeline stage as a DL4J graph. Each size of micro-batch has its own native arrays. */
final class Dl4jStage implements StageModel {

  private static final String OUTPUT = "VERTIGRAD_STAGE_OUTPUT";
  private static final int KEPT_SIZES = 6;
  private static final FloatBuffer NOTHING = FloatBuffer.allocate(0);
  private static final WorkspaceConfiguration OUTPUT_MEMORY =
      WorkspaceConfiguration.builder()
          .policyAllocation(AllocationPolicy.STRICT)
          .policyLearning(LearningPolicy.OVER_TIME)
          .build();

  private final StageSpec spec;
  private final StageGraph stage;
  private final ModelConfig config;
  private final int lossesPerSample;
  private final FlatVector parameters;
  private final FlatVector gradients;
  private final Map<Integer, StageArrays> arrays = new HashMap<>();
  private final Thread owner = Thread.currentThread();
  private FloatBuffer output = NOTHING;
  private int lastCount;

  /**
   * Creates a stage.
   *
   * @param config from which the model is built; null for a stage without a loss
   */
  Dl4jStage(StageSpec spec, StageGraph stage, ModelConfig config) {
    this.spec = spec;
    this.stage = stage;
    this.config = config;
    this.lossesPerSample = config == null ? 1 : Dl4jModel.lossesPerSample(config);
    SegmentTable table = SegmentTable.of(stage.network());
    if (!table.layout().equals(spec.layout())) {
      throw new IllegalStateException(
          "stage %s has other arrays than the plan: %s"
              .formatted(spec.index(), spec.layout().firstDifference(table.layout()).orElse("")));
    }
    parameters = new FlatVector(stage.network().parameters(), table);
    gradients = new FlatVector(stage.network().gradients(), table);
  }

  @Override
  public boolean hasLoss() {
    return config != null;
  }

  @Override
  public StageSpec spec() {
    return spec;
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
  public FloatBuffer forward(float[] input, int samples) {
    StageArrays filled = arrays(samples);
    filled.fill(input);
    return output(filled, true);
  }

  @Override
  public FloatBuffer infer(float[] input, int samples) {
    StageArrays filled = arrays(samples);
    filled.fill(input);
    return output(filled, false);
  }

  @Override
  public Score score(float[] input, int[] labels, int topK) {
    return score(new Batch(input, labels, spec.input(), 0), topK);
  }

  @Override
  public Score score(Batch part, int topK) {
    return Probabilities.score(outputs(part), part, config.loss(), config.metric(), topK);
  }

  @Override
  public Optional<float[]> values(Batch part) {
    return Optional.of(outputs(part));
  }

  private float[] outputs(Batch part) {
    FloatBuffer output = output(labelled(part), false);
    float[] values = new float[output.remaining()];
    output.get(values);
    return values;
  }

  @Override
  public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
    StageArrays filled = arrays(samples);
    filled.fill(input, outputGradient);
    return backward(filled, samples);
  }

  @Override
  public StageLoss loss(float[] input, int[] labels) {
    return loss(new Batch(input, labels, spec.input(), 0));
  }

  @Override
  public StageLoss loss(Batch part) {
    int samples = part.count();
    FloatBuffer gradient = backward(labelled(part), samples);
    double sum = stage.graph().score() * samples / lossesPerSample;
    return new StageLoss(sum, stage.network().correct(), mean(gradient));
  }

  @Override
  public int answers() {
    return config == null ? 1 : config.targets().answers();
  }

  @Override
  public void addGradient(float[] sum, int batch) {
    int trainable = layout().trainable();
    gradients.add(sum, 0, trainable, 1f / (batch * lossesPerSample));
    gradients.add(sum, trainable, layout().statistics(), (float) lastCount / batch);
  }

  /**
   * Converts the gradient of the sum over a sample's labels to that of their mean, for the previous
   * stage.
   */
  private FloatBuffer mean(FloatBuffer gradient) {
    if (lossesPerSample == 1 || gradient.remaining() == 0) {
      return gradient;
    }
    FloatBuffer scaled = FloatBuffer.allocate(gradient.remaining());
    for (int i = 0; i < scaled.capacity(); i++) {
      scaled.put(i, gradient.get(gradient.position() + i) / lossesPerSample);
    }
    return scaled;
  }

  @Override
  public void close() {
    arrays.clear();
    NativeMemoryWatchdog.freeWorkspaces(layout().length());
  }

  private FloatBuffer output(StageArrays filled, boolean training) {
    try (MemoryWorkspace workspace =
        Nd4j.getWorkspaceManager().getAndActivateWorkspace(OUTPUT_MEMORY, OUTPUT)) {
      INDArray out = stage.graph().output(training, workspace, filled.input())[0];
      INDArray rows = NativeFloats.rows(out);
      NativeFloats.fetch(rows);
      FloatBuffer values = NativeFloats.of(rows);
      if (output.capacity() < values.capacity()) {
        output = FloatBuffer.allocate(values.capacity());
      }
      return output.clear().put(values).flip().duplicate();
    }
  }

  private StageArrays labelled(Batch part) {
    StageArrays filled = arrays(part.count());
    filled.fill(part);
    return filled;
  }

  private FloatBuffer backward(StageArrays filled, int samples) {
    lastCount = samples;
    stage.network().gradient(filled.input(), filled.target());
    return stage.tap() == null ? NOTHING : stage.tap().inputGradient();
  }

  private StageArrays arrays(int samples) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "stage used by thread %s, expected %s, which built it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    if (arrays.size() >= KEPT_SIZES && !arrays.containsKey(samples)) {
      arrays.clear();
    }
    Targets targets = config == null ? null : config.targets();
    return arrays.computeIfAbsent(samples, count -> new StageArrays(count, spec, targets));
  }
}
