package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

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

  @SuppressWarnings("try")
  private FloatBuffer output(float[] input, int samples) {
    try (PointerScope step = new PointerScope()) {
      return kept(TensorBuffers.values(module.forward(input(input, samples))));
    }
  }

  @Override
  public Score score(float[] input, int[] labels, int topK) {
    return score(new Batch(input, labels, spec.input(), 0), topK);
  }

  @Override
  @SuppressWarnings("try")
  public Score score(Batch part, int topK) {
    PyTorchModel.checkTargets(part, config);
    module.training(false);
    tensors.beginInference();
    try (PointerScope step = new PointerScope()) {
      Tensor output = module.forward(input(part.features(), part.count()));
      return BatchLoss.of(config, TensorBuffers.values(output)).score(part, topK);
    }
  }

  @Override
  public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
    requireLength("gradient", outputGradient.length, samples * spec.outputLength());
    Pass pass =
        new Pass(input, samples) {
          @Override
          void start(Tensor output, FloatBuffer gradient) {
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
          void start(Tensor output, FloatBuffer gradient) {
            loss[0] = BatchLoss.of(config, TensorBuffers.values(output));
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
    abstract void start(Tensor output, FloatBuffer gradient);

    @SuppressWarnings("try")
    FloatBuffer run() {
      module.training(true);
      tensors.begin();
      boolean done = false;
      GradMode.set_enabled(true);
      try (PointerScope step = new PointerScope()) {
        Tensor in = input(input, samples);
        in.set_requires_grad(spec.index() > 0);
        Tensor out = module.forward(in);
        gradient = PyTorchModel.atLeast(gradient, samples * spec.outputLength() * Float.BYTES);
        start(out, gradient.asFloatBuffer());
        module.backward(out, gradient);
        lastCount = samples;
        done = true;
        return spec.index() == 0 ? NOTHING : kept(TensorBuffers.values(in.grad()));
      } finally {
        GradMode.set_enabled(false);
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
    tensors.close();
    module.close();
  }

  private Tensor input(float[] input, int samples) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "stage used by thread %s, expected %s, which built it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    requireLength("input", input.length, samples * spec.inputLength());
    values = PyTorchModel.atLeast(values, input.length * Float.BYTES);
    values.asFloatBuffer().put(input);
    return module.input(values, ScalarType.Float, PyTorchModel.inputShape(samples, spec.input()));
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
