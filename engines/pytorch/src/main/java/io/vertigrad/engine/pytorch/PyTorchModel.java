package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.GradMode;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Adapts a TorchScript module to {@link Model}. */
final class PyTorchModel implements Model {

  private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

  private final String name;
  private final ScriptModule module;
  private final FlatTensors tensors;
  private final List<Integer> sample;
  private final int sampleLength;
  private final ModelConfig config;
  private final ScalarType type;
  private final int outputs;
  private final Thread owner = Thread.currentThread();

  private ByteBuffer features = NOTHING;
  private ByteBuffer outputGradient = NOTHING;
  private int correct;

  /**
   * Creates a model from a module that fits the data.
   *
   * @param config from which the module was built
   * @param sample one sample's dimensions as the module takes them
   * @param type of the numbers that the module takes: float32, or int64 for ids of tokens
   */
  PyTorchModel(
      ModelConfig config,
      ScriptModule module,
      FlatTensors tensors,
      List<Integer> sample,
      ScalarType type) {
    this.name = config.name();
    this.config = config;
    this.type = type;
    this.module = module;
    this.tensors = tensors;
    this.sample = List.copyOf(sample);
    this.sampleLength = sample.stream().reduce(1, Math::multiplyExact);
    this.outputs = Math.multiplyExact(config.classes(), config.positions());
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
  @SuppressWarnings("try")
  public double gradient(Batch batch) {
    check(batch, true);
    module.training(true);
    tensors.begin();
    boolean done = false;
    GradMode.set_enabled(true);
    try (PointerScope step = new PointerScope()) {
      Tensor output = output(batch);
      BatchLoss loss = BatchLoss.of(config, TensorBuffers.values(output));
      ByteBuffer gradient = outputGradient(batch.count());
      loss.gradient(batch, gradient.asFloatBuffer(), 1f / batch.count());
      correct = loss.correct();
      module.backward(output, gradient);
      done = true;
      return loss.lossSum() / batch.count();
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
  public int correct() {
    return correct;
  }

  @Override
  public int answers() {
    return config.targets().answers();
  }

  @Override
  public Score score(Batch batch, int topK) {
    return computeLoss(batch, true).score(batch, topK);
  }

  @Override
  public float[] probabilities(Batch batch, int classes) {
    return computeLoss(batch, false).probabilities();
  }

  @SuppressWarnings("try")
  private BatchLoss computeLoss(Batch batch, boolean compared) {
    check(batch, compared);
    module.training(false);
    tensors.beginInference();
    try (PointerScope step = new PointerScope()) {
      return BatchLoss.of(config, TensorBuffers.values(output(batch)));
    }
  }

  @Override
  public void export(String format, Path file) throws IOException {
    if (!format.equals("pt")) {
      throw new IllegalArgumentException(
          "format %s: the engine pytorch does not write it, expected one of pt, safetensors"
              .formatted(format));
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
    tensors.close();
    module.close();
  }

  private Tensor output(Batch batch) {
    Tensor output = module.forward(input(batch));
    ScalarType found = TensorBuffers.type(output);
    if (output.numel() != (long) batch.count() * outputs || found != ScalarType.Float) {
      throw new IllegalStateException(
          "model %s: its output for %d samples is %s of %s, expected %s of float32"
              .formatted(
                  name,
                  batch.count(),
                  Arrays.toString(output.shape()),
                  TensorBuffers.name(found),
                  Arrays.toString(outputShape(batch.count(), config))));
    }
    return output;
  }

  private Tensor input(Batch batch) {
    float[] values = batch.features();
    int bytes = Math.multiplyExact(values.length, bytes(type));
    features = atLeast(features, bytes);
    if (type == ScalarType.Long) {
      LongBuffer ids = features.asLongBuffer();
      for (int i = 0; i < values.length; i++) {
        ids.put(i, (long) values[i]);
      }
    } else {
      features.asFloatBuffer().put(values);
    }
    return module.input(features, type, inputShape(batch.count(), sample));
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

  private ByteBuffer outputGradient(int count) {
    outputGradient = atLeast(outputGradient, Math.multiplyExact(count * outputs, Float.BYTES));
    return outputGradient;
  }

  static ByteBuffer atLeast(ByteBuffer buffer, int bytes) {
    return buffer.capacity() >= bytes
        ? buffer
        : ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
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
          "batch of %d samples with %d values, expected %d"
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
            "batch of %d samples with %d targets, expected %d for the %d %s"
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
          "batch of %d samples with %d labels, expected %d"
              .formatted(batch.count(), labels.length, batch.count() * config.positions()));
    }
    for (int i = 0; i < labels.length; i++) {
      if (labels[i] < 0 || labels[i] >= config.classes()) {
        throw new IllegalArgumentException(
            "label %d of sample %d: expected 0 to %d"
                .formatted(labels[i], i / config.positions(), config.classes() - 1));
      }
    }
  }
}
