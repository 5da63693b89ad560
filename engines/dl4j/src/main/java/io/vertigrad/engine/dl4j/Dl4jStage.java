package io.vertigrad.engine.dl4j;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import io.vertigrad.engine.dl4j.kernels.NativeFloats;
import java.nio.FloatBuffer;
import java.util.HashMap;
import java.util.Map;
import org.nd4j.linalg.api.memory.MemoryWorkspace;
import org.nd4j.linalg.api.memory.conf.WorkspaceConfiguration;
import org.nd4j.linalg.api.memory.enums.AllocationPolicy;
import org.nd4j.linalg.api.memory.enums.LearningPolicy;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.factory.Nd4j;

/** One stage as a DL4J graph; a micro-batch of each size has its own native arrays. */
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
  private final int classes;
  private final FlatVector parameters;
  private final FlatVector gradients;
  private final Map<Integer, StageArrays> arrays = new HashMap<>();
  private final Thread owner = Thread.currentThread();
  private FloatBuffer output = NOTHING;
  private int lastCount;

  /**
   * A stage.
   *
   * @param classes of the loss; 0 for a stage without one
   */
  Dl4jStage(StageSpec spec, StageGraph stage, int classes) {
    this.spec = spec;
    this.stage = stage;
    this.classes = classes;
    SegmentTable table = SegmentTable.of(stage.network());
    if (!table.layout().equals(spec.layout())) {
      throw new IllegalStateException(
          "stage %d was built with other arrays than planned: %s"
              .formatted(spec.index(), spec.layout().firstDifference(table.layout()).orElse("")));
    }
    parameters = new FlatVector(stage.network().parameters(), table);
    gradients = new FlatVector(stage.network().gradients(), table);
  }

  @Override
  public boolean hasLoss() {
    return classes > 0;
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
    FloatBuffer output = output(labelled(input, labels), false);
    float[] probabilities = new float[output.remaining()];
    output.get(probabilities);
    return Probabilities.score(probabilities, labels, topK);
  }

  @Override
  public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
    StageArrays filled = arrays(samples);
    filled.fill(input, outputGradient);
    return backward(filled, samples);
  }

  @Override
  public StageLoss loss(float[] input, int[] labels) {
    int samples = labels.length;
    FloatBuffer gradient = backward(labelled(input, labels), samples);
    return new StageLoss(stage.graph().score() * samples, stage.network().correct(), gradient);
  }

  @Override
  public void addGradient(float[] sum, int batch) {
    int trainable = layout().trainable();
    gradients.add(sum, 0, trainable, 1f / batch);
    gradients.add(sum, trainable, layout().statistics(), (float) lastCount / batch);
  }

  @Override
  public void close() {
    arrays.clear();
    Nd4j.getWorkspaceManager().destroyAllWorkspacesForCurrentThread();
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

  private StageArrays labelled(float[] input, int[] labels) {
    StageArrays filled = arrays(labels.length);
    filled.fill(new Batch(input, labels, spec.input(), 0));
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
    return arrays.computeIfAbsent(samples, count -> new StageArrays(count, spec, classes));
  }
}
