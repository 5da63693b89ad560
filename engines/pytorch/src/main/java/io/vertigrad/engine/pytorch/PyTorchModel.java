package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.GradientListener;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import io.vertigrad.compute.optimizer.DeviceUpdateRule;
import io.vertigrad.compute.optimizer.OptimizerConfig;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Adapts a module to {@link Model}. */
final class PyTorchModel implements Model {

  private final String name;
  private final TorchModule module;
  private final FlatTensors tensors;
  private final List<Integer> sample;
  private final int sampleLength;
  private final ModelConfig config;
  private final int outputs;
  private final Thread owner = Thread.currentThread();

  private final BatchInput input;
  private final Losses losses;
  private int correct;

  /**
   * Creates a model from a module that fits the data. Module and tensors stay open if this fails.
   *
   * @param config from which the module was built
   * @param sample one sample's dimensions as the module takes them
   * @param type of the numbers that the module takes: float32, or int64 for ids of tokens
   */
  PyTorchModel(
      ModelConfig config,
      TorchModule module,
      FlatTensors tensors,
      List<Integer> sample,
      ScalarType type) {
    this.name = config.name();
    this.config = config;
    this.module = module;
    this.tensors = tensors;
    this.sample = List.copyOf(sample);
    this.sampleLength = sample.stream().reduce(1, Math::multiplyExact);
    this.outputs = Math.multiplyExact(config.classes(), config.positions());
    this.input = new BatchInput(module.place(), type);
    try {
      this.losses = Losses.of(config, module.place());
    } catch (RuntimeException | Error e) {
      input.close();
      throw e;
    }
  }

  @Override
  public ParameterLayout layout() {
    return tensors.layout();
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
  public void readGradient(int first, FloatBuffer destination) {
    tensors.readGradient(first, destination);
  }

  @Override
  public Optional<DeviceUpdateRule> deviceRule(OptimizerConfig optimizer) {
    return tensors.deviceRule(optimizer);
  }

  @Override
  public double gradient(Batch batch) {
    return module.onBatch(batch.count(), () -> compute(batch, Runnable::run));
  }

  @Override
  public double gradient(Batch batch, GradientListener listener) {
    return module.onBatch(
        batch.count(), () -> compute(batch, backward -> tensors.overlap(backward, listener)));
  }

  /** Computes a gradient, running the backward pass as the second argument does. */
  @SuppressWarnings("try")
  private double compute(Batch batch, Consumer<Runnable> run) {
    check(batch, true);
    module.training(true);
    tensors.begin();
    boolean done = false;
    GradMode.set_enabled(true);
    try (PointerScope step = new PointerScope()) {
      BatchInput.Tensors in = input.take(batch, inputShape(batch.count(), sample));
      Tensor output = output(in, batch.count());
      Tensor start = losses.gradient(output, batch, in.targets(), 1f / batch.count());
      run.accept(() -> module.backward(output, start));
      done = true;
    } finally {
      GradMode.set_enabled(false);
      if (done) {
        tensors.end();
      } else {
        tensors.restoreStatistics();
      }
    }
    // On a GPU the backward pass may still be running.
    correct = losses.correct();
    return losses.lossSum() / batch.count();
  }

  @Override
  public void prepareNext(Batch next) {
    if (!module.place().isShared()) {
      input.write(next);
    }
  }

  @Override
  public int correct() {
    return correct;
  }

  @Override
  public int answers() {
    return config.targets().answers();
  }

  @Override
  public Score score(Batch batch, int topK) {
    return module.onBatch(
        batch.count(),
        () -> infer(batch, true, (output, in) -> losses.score(output, batch, in.targets(), topK)));
  }

  @Override
  public float[] probabilities(Batch batch, int classes) {
    return module.onBatch(
        batch.count(), () -> infer(batch, false, (output, in) -> losses.probabilities(output)));
  }

  @SuppressWarnings("try")
  private <T> T infer(
      Batch batch, boolean compared, BiFunction<Tensor, BatchInput.Tensors, T> result) {
    check(batch, compared);
    module.training(false);
    tensors.beginInference();
    try (PointerScope step = new PointerScope()) {
      BatchInput.Tensors in = input.take(batch, inputShape(batch.count(), sample));
      return result.apply(output(in, batch.count()), in);
    }
  }

  /** Returns what a module from a file has besides; built-in networks have nothing more. */
  @Override
  public List<State> furtherState() {
    if (BuiltInNetworks.has(name)) {
      return List.of();
    }
    tensors.beginInference();
    Map<String, Tensor> rest = new TreeMap<>(module.tensors());
    layout().blocks().forEach(block -> rest.remove(block.name()));
    List<State> state = new ArrayList<>();
    rest.forEach((tensor, value) -> state.add(TensorBuffers.state(tensor, value)));
    return state;
  }

  @Override
  public void export(String format, Path file) throws IOException {
    if (!format.equals(module.format())) {
      throw new IllegalArgumentException(
          "format %s: the engine pytorch does not write it of this model, expected one of %s, safetensors"
              .formatted(format, module.format()));
    }
    save(file);
  }

  @Override
  public void save(Path file) throws IOException {
    if (!module.place().isShared()) {
      try (PyTorchModel here = onProcessor()) {
        here.save(file);
      }
      return;
    }
    module.save(file);
  }

  /** Returns this model in memory that Java shares, so that the file names no device. */
  private PyTorchModel onProcessor() {
    PyTorchModel here = new ModelLoader(config, Place::shared).load();
    FloatBuffer parameters = FloatBuffer.allocate(layout().length());
    readParameters(0, parameters);
    here.writeParameters(0, parameters.flip());
    // Counters are not exchanged, so take this model's.
    tensors.beginInference();
    Map<String, Tensor> own = module.tensors();
    here.module.buffers().forEach(one -> one.tensor().copy_(own.get(one.name())));
    return here;
  }

  @Override
  public void close() {
    input.close();
    losses.close();
    tensors.close();
    module.close();
  }

  private Tensor output(BatchInput.Tensors in, int count) {
    Tensor output = forward(module, in.features(), config);
    ScalarType found = TensorBuffers.type(output);
    if (output.numel() != (long) count * outputs || found != ScalarType.Float) {
      throw new IllegalStateException(
          "model %s: its output for %s samples is %s of %s, expected %s of float32"
              .formatted(
                  name,
                  count,
                  Arrays.toString(output.shape()),
                  TensorBuffers.name(found),
                  Arrays.toString(outputShape(count, config))));
    }
    return output;
  }

  /**
   * Runs a pass of a module. One value per sample may be put out without a dimension of its own.
   */
  static Tensor forward(TorchModule module, Tensor features, ModelConfig config) {
    Tensor output = module.forward(features);
    boolean flat = output.dim() == 1 && config.classes() == 1 && config.positions() == 1;
    return flat ? output.unsqueeze(1) : output;
  }

  /** Returns the bytes of one number of an input's type. */
  static int bytes(ScalarType type) {
    return type == ScalarType.Long ? Long.BYTES : Float.BYTES;
  }

  /**
   * Returns the expected shape of the module's output. It has a dimension for positions only if a
   * sample has several.
   */
  static long[] outputShape(int count, ModelConfig config) {
    return config.positions() == 1
        ? new long[] {count, config.classes()}
        : new long[] {count, config.positions(), config.classes()};
  }

  static long[] inputShape(int count, List<Integer> sample) {
    long[] shape = new long[1 + sample.size()];
    shape[0] = count;
    for (int i = 0; i < sample.size(); i++) {
      shape[i + 1] = sample.get(i);
    }
    return shape;
  }

  private void check(Batch batch, boolean compared) {
    if (Thread.currentThread() != owner) {
      throw new IllegalStateException(
          "model used by thread %s, expected %s, which made it"
              .formatted(Thread.currentThread().getName(), owner.getName()));
    }
    if (batch.count() == 0) {
      throw new IllegalArgumentException("batch of 0 samples: expected at least 1");
    }
    if (batch.features().length != batch.count() * sampleLength) {
      throw new IllegalArgumentException(
          "batch of %s samples with %s values, expected %s"
              .formatted(batch.count(), batch.features().length, batch.count() * sampleLength));
    }
    if (compared) {
      checkTargets(batch, config);
    }
  }

  /** Refuses a batch whose labels or targets do not fit the loss. */
  static void checkTargets(Batch batch, ModelConfig config) {
    if (config.loss() != Loss.CROSS_ENTROPY) {
      if (batch.targets().length != batch.count() * config.classes()) {
        throw new IllegalArgumentException(
            "batch of %s samples with %s targets, expected %s for the %s %s"
                .formatted(
                    batch.count(),
                    batch.targets().length,
                    batch.count() * config.classes(),
                    config.classes(),
                    config.loss().targets().text()));
      }
      return;
    }
    int[] labels = batch.labels();
    if (labels.length != batch.count() * config.positions()) {
      throw new IllegalArgumentException(
          "batch of %s samples with %s labels, expected %s"
              .formatted(batch.count(), labels.length, batch.count() * config.positions()));
    }
    for (int i = 0; i < labels.length; i++) {
      if (labels[i] < 0 || labels[i] >= config.classes()) {
        throw new IllegalArgumentException(
            "label %s of sample %s: expected 0 to %s"
                .formatted(labels[i], i / config.positions(), config.classes() - 1));
      }
    }
  }
}
