package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.Precision;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.pipeline.StageLoss;
import io.vertigrad.compute.pipeline.StageModel;
import io.vertigrad.compute.pipeline.StageSpec;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.util.Optional;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** One pipeline stage as a TorchScript module. */
final class PyTorchStage implements StageModel {

  private static final FloatBuffer NOTHING = FloatBuffer.allocate(0);
  private static final float[] NONE = {};
  private static final int[] NO_LABELS = {};

  private final StageSpec spec;
  private final ModelConfig config;
  private final ScriptModule module;
  private final FlatTensors tensors;
  private final Thread owner = Thread.currentThread();
  private final BatchInput input;

  /** Null for a stage without a loss. */
  private final Losses losses;

  private ByteBuffer gradient = ByteBuffer.allocateDirect(0);
  private FloatBuffer result = NOTHING;
  private int lastCount;

  /**
   * Creates a stage.
   *
   * @param config from which the model is built; null for a stage without a loss
   * @param place where it computes; the stage closes it, even if this fails
   * @param precision of its passes; values between stages are float32
   */
  PyTorchStage(StageSpec spec, Network part, ModelConfig config, Place place, Precision precision) {
    this.spec = spec;
    this.config = config;
    this.module = ScriptModule.of(part, place, precision);
    try {
      this.tensors = FlatTensors.of(module, part);
      this.input = new BatchInput(place, ScalarType.Float);
      this.losses = config == null ? null : Losses.of(config, place);
    } catch (RuntimeException | Error e) {
      close();
      throw e;
    }
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
      return module.onBatch(samples, () -> output(input, samples));
    } finally {
      tensors.restoreStatistics();
    }
  }

  @Override
  public FloatBuffer infer(float[] input, int samples) {
    module.training(false);
    tensors.beginInference();
    return module.onBatch(samples, () -> output(input, samples));
  }

  @SuppressWarnings("try")
  private FloatBuffer output(float[] input, int samples) {
    try (PointerScope step = new PointerScope()) {
      return kept(
          TensorBuffers.values(module.forward(take(batch(input, NONE, samples)).features())));
    }
  }

  @Override
  public Score score(float[] input, int[] labels, int topK) {
    return score(new Batch(input, labels, spec.input(), 0), topK);
  }

  @Override
  public Score score(Batch part, int topK) {
    PyTorchModel.checkTargets(part, config);
    return module.onBatch(part.count(), () -> compared(part, topK));
  }

  @Override
  public Optional<float[]> values(Batch part) {
    FloatBuffer output = infer(part.features(), part.count());
    float[] values = new float[output.remaining()];
    output.get(values);
    return Optional.of(values);
  }

  @SuppressWarnings("try")
  private Score compared(Batch part, int topK) {
    module.training(false);
    tensors.beginInference();
    try (PointerScope step = new PointerScope()) {
      BatchInput.Tensors in = take(part);
      return losses.score(module.forward(in.features()), part, in.targets(), topK);
    }
  }

  @Override
  public FloatBuffer backward(float[] input, float[] outputGradient, int samples) {
    requireLength("gradient", outputGradient.length, samples * spec.outputLength());
    Pass start =
        (output, targets) -> {
          if (targets != null) {
            return targets.view_as(output);
          }
          gradient = TensorBuffers.atLeast(gradient, outputGradient.length * Float.BYTES);
          gradient.asFloatBuffer().put(outputGradient);
          return TensorBuffers.tensor(gradient, ScalarType.Float, output.shape());
        };
    return module.onBatch(samples, () -> run(batch(input, outputGradient, samples), start));
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
    FloatBuffer inputGradient =
        module.onBatch(
            part.count(),
            () -> run(part, (output, targets) -> losses.gradient(output, part, targets, 1)));
    return new StageLoss(losses.lossSum(), losses.correct(), inputGradient);
  }

  /** Returns the gradient that the backward pass of an output starts from. */
  private interface Pass {

    Tensor start(Tensor output, Tensor targets);
  }

  /**
   * Runs a forward and a backward pass that computes the gradient of the sum over its samples, and
   * returns the gradient of the input.
   */
  @SuppressWarnings("try")
  private FloatBuffer run(Batch batch, Pass pass) {
    module.training(true);
    tensors.begin();
    boolean done = false;
    GradMode.set_enabled(true);
    try (PointerScope step = new PointerScope()) {
      BatchInput.Tensors taken = take(batch);
      Tensor in = taken.features();
      in.set_requires_grad(spec.index() > 0);
      Tensor out = module.forward(in);
      module.backward(out, pass.start(out, taken.targets()));
      lastCount = batch.count();
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
    // A constructor that failed has left the last ones out.
    if (input != null) {
      input.close();
    }
    if (losses != null) {
      losses.close();
    }
    if (tensors != null) {
      tensors.close();
    }
    module.close();
  }

  private Batch batch(float[] input, float[] targets, int samples) {
    return new Batch(samples, input, NO_LABELS, targets, spec.input(), 0);
  }

  private BatchInput.Tensors take(Batch batch) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "stage used by thread %s, expected %s, which built it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    requireLength("input", batch.features().length, batch.count() * spec.inputLength());
    return input.take(batch, PyTorchModel.inputShape(batch.count(), spec.input()));
  }

  private static void requireLength(String what, int found, int expected) {
    if (found != expected || found == 0) {
      throw new IllegalArgumentException(
          "%s of %s values, expected %s and at least 1".formatted(what, found, expected));
    }
  }

  private FloatBuffer kept(FloatBuffer natively) {
    if (result.capacity() < natively.remaining()) {
      result = FloatBuffer.allocate(natively.remaining());
    }
    return result.clear().put(natively).flip().duplicate();
  }
}
