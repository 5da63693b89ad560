package io.vertigrad.engine.pytorch;

import ai.djl.ndarray.types.DataType;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;

/** One pipeline stage as a TorchScript module. */
final class PyTorchStage implements StageModel {

  private static final FloatBuffer NOTHING = FloatBuffer.allocate(0);

  private final StageSpec spec;
  private final ModelConfig config;
  private final ScriptModule module;
  private final FlatTensors tensors;
  private final Thread owner = Thread.currentThread();
  private ByteBuffer values = ByteBuffer.allocateDirect(0);
  private ByteBuffer gradient = ByteBuffer.allocateDirect(0);
  private FloatBuffer result = NOTHING;
  private int lastCount;

  /**
   * Creates a stage.
   *
   * @param config from which the model is built; null for a stage without a loss
   * @param place where it computes; the stage closes it
   */
  PyTorchStage(StageSpec spec, Network part, ModelConfig config, Place place) {
    this.spec = spec;
    this.config = config;
    this.module = ScriptModule.of(part, place);
    this.tensors = FlatTensors.of(module, part);
  }

  @Override
  public StageSpec spec() {
    return spec;
  }

  @Override
  public boolean hasLoss() {
    return config != null;
  }

  @Override
  public void readParameters(int first, FloatBuffer destination) {
    tensors.readParameters(first, destination);
  }

  @Override
  public void writeParameters(int first, FloatBuffer source) {
    tensors.writeParameters(first, source);
  }

  @Override
  public FloatBuffer forward(float[] input, int samples) {
    module.training(true);
    tensors.beginForward();
    try {
      return output(input, samples);
    } finally {
      tensors.restoreStatistics();
    }
  }

  @Override
  public FloatBuffer infer(float[] input, int samples) {
    module.training(false);
    tensors.beginInference();
    return output(input, samples);
  }

  private FloatBuffer output(float[] input, int samples) {
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      return kept(PyTorchModel.values(module.forward(input(step, input, samples))));
    }
  }

  @Override
  public Score score(float[] input, int[] labels, int topK) {
    return score(new Batch(input, labels, spec.input(), 0), topK);
  }

  @Override
  public Score score(Batch part, int topK) {
    PyTorchModel.checkTargets(part, config);
    module.training(false);
    tensors.beginInference();
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      PtNDArray output = module.forward(input(step, part.features(), part.count()));
      return BatchLoss.of(config, PyTorchModel.values(output)).score(part, topK);
    }
  }

  @Override
  public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
    requireLength("gradient", outputGradient.length, samples * spec.outputLength());
    Pass pass =
        new Pass(input, samples) {
          @Override
          void start(PtNDArray output, FloatBuffer gradient) {
            gradient.put(outputGradient);
          }
        };
    return pass.run();
  }

  @Override
  public StageLoss loss(float[] input, int[] labels) {
    return loss(new Batch(input, labels, spec.input(), 0));
  }

  @Override
  public int answers() {
    return config == null ? 1 : config.targets().answers();
  }

  @Override
  public StageLoss loss(Batch part) {
    PyTorchModel.checkTargets(part, config);
    BatchLoss[] loss = new BatchLoss[1];
    Pass pass =
        new Pass(part.features(), part.count()) {
          @Override
          void start(PtNDArray output, FloatBuffer gradient) {
            loss[0] = BatchLoss.of(config, PyTorchModel.values(output));
            loss[0].gradient(part, gradient, 1);
          }
        };
    FloatBuffer inputGradient = pass.run();
    return new StageLoss(loss[0].lossSum(), loss[0].correct(), inputGradient);
  }

  /** A forward and a backward pass that computes the gradient of the sum over its samples. */
  private abstract class Pass {

    private final float[] input;
    private final int samples;

    Pass(float[] input, int samples) {
      this.input = input;
      this.samples = samples;
    }

    /** Computes the gradient that the backward pass starts from. */
    abstract void start(PtNDArray output, FloatBuffer gradient);

    FloatBuffer run() {
      module.training(true);
      tensors.begin();
      boolean done = false;
      JniUtils.setGradMode(true);
      try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
        PtNDArray in = input(step, input, samples);
        in.setRequiresGradient(spec.index() > 0);
        PtNDArray out = module.forward(in);
        int bytes = samples * spec.outputLength() * Float.BYTES;
        gradient = PyTorchModel.atLeast(gradient, bytes);
        ByteBuffer exact = gradient.slice(0, bytes).order(ByteOrder.nativeOrder());
        start(out, exact.asFloatBuffer());
        JniUtils.backward(out, step.create(exact, out.getShape(), DataType.FLOAT32), false, false);
        lastCount = samples;
        done = true;
        return spec.index() == 0 ? NOTHING : kept(PyTorchModel.values(JniUtils.getGradient(in)));
      } finally {
        JniUtils.setGradMode(false);
        if (done) {
          tensors.end();
        } else {
          tensors.restoreStatistics();
        }
      }
    }
  }

  @Override
  public void addGradient(float[] sum, int batch) {
    FloatBuffer own = tensors.gradients();
    int trainable = layout().trainable();
    float share = 1f / batch;
    float weight = (float) lastCount / batch;
    for (int i = 0; i < sum.length; i++) {
      sum[i] += own.get(i) * (i < trainable ? share : weight);
    }
  }

  @Override
  public void close() {
    module.close();
  }

  private PtNDArray input(PtNDManager step, float[] input, int samples) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "stage used by thread %s, expected %s, which built it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    requireLength("input", input.length, samples * spec.inputLength());
    int bytes = input.length * Float.BYTES;
    values = PyTorchModel.atLeast(values, bytes);
    values.asFloatBuffer().put(input);
    return step.create(
        values.slice(0, bytes), PyTorchModel.inputShape(samples, spec.input()), DataType.FLOAT32);
  }

  private static void requireLength(String what, int found, int expected) {
    if (found != expected || found == 0) {
      throw new IllegalArgumentException(
          "%s of %d values, expected %d and at least 1".formatted(what, found, expected));
    }
  }

  private FloatBuffer kept(FloatBuffer natively) {
    if (result.capacity() < natively.remaining()) {
      result = FloatBuffer.allocate(natively.remaining());
    }
    return result.clear().put(natively).flip().duplicate();
  }
}
