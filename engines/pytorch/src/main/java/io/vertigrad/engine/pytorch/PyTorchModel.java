package io.vertigrad.engine.pytorch;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Loss;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ModelConfig;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** Adapts a TorchScript module to {@link Model}. */
final class PyTorchModel implements Model {

  private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

  private final String name;
  private final ScriptModule module;
  private final FlatTensors tensors;
  private final List<Integer> sample;
  private final int sampleLength;
  private final ModelConfig config;
  private final DataType type;
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
      DataType type) {
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
  public double gradient(Batch batch) {
    check(batch, true);
    module.training(true);
    tensors.begin();
    boolean done = false;
    JniUtils.setGradMode(true);
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      PtNDArray output = output(step, batch);
      BatchLoss loss = BatchLoss.of(config, values(output));
      ByteBuffer gradient = outputGradient(batch.count());
      loss.gradient(batch, gradient.asFloatBuffer(), 1f / batch.count());
      correct = loss.correct();
      PtNDArray start = step.create(gradient, output.getShape(), DataType.FLOAT32);
      JniUtils.backward(output, start, false, false);
      done = true;
      return loss.lossSum() / batch.count();
    } finally {
      JniUtils.setGradMode(false);
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

  private BatchLoss computeLoss(Batch batch, boolean compared) {
    check(batch, compared);
    module.training(false);
    tensors.beginInference();
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      return BatchLoss.of(config, values(output(step, batch)));
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
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
      module.save(out);
    }
  }

  /** Returns this model in memory that Java shares, so that the file names no device. */
  private PyTorchModel onProcessor() {
    PyTorchModel here = new ModelLoader(config, Place::shared).load();
    FloatBuffer parameters = FloatBuffer.allocate(layout().length());
    readParameters(0, parameters);
    here.writeParameters(0, parameters.flip());
    // Counters are not exchanged, so take this model's.
    tensors.beginInference();
    Map<String, PtNDArray> own = module.tensors();
    TensorFunction copy = TensorFunction.copy(here.module.manager());
    here.module.buffers().forEach(one -> copy.apply(one.array(), own.get(one.name())));
    return here;
  }

  @Override
  public void close() {
    module.close();
  }

  private PtNDArray output(PtNDManager step, Batch batch) {
    PtNDArray output = module.forward(input(step, batch));
    if (output.size() != (long) batch.count() * outputs
        || output.getDataType() != DataType.FLOAT32) {
      throw new IllegalStateException(
          "model %s: its output for %d samples is %s of %s, expected %s of float32"
              .formatted(
                  name,
                  batch.count(),
                  output.getShape(),
                  output.getDataType(),
                  Arrays.toString(outputShape(batch.count(), config))));
    }
    return output;
  }

  private PtNDArray input(PtNDManager step, Batch batch) {
    float[] values = batch.features();
    int bytes = Math.multiplyExact(values.length, type.getNumOfBytes());
    features = atLeast(features, bytes);
    if (type == DataType.INT64) {
      LongBuffer ids = features.asLongBuffer();
      for (int i = 0; i < values.length; i++) {
        ids.put(i, (long) values[i]);
      }
    } else {
      features.asFloatBuffer().put(values);
    }
    return step.create(features.slice(0, bytes), inputShape(batch.count()), type);
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

  private Shape inputShape(int count) {
    return inputShape(count, sample);
  }

  static Shape inputShape(int count, List<Integer> sample) {
    long[] shape = new long[1 + sample.size()];
    shape[0] = count;
    for (int i = 0; i < sample.size(); i++) {
      shape[i + 1] = sample.get(i);
    }
    return new Shape(shape);
  }

  static FloatBuffer values(PtNDArray array) {
    return array.toByteBuffer(true).order(ByteOrder.nativeOrder()).asFloatBuffer();
  }

  /** Returns a buffer of exactly the needed length: DJL limits longer ones. */
  private ByteBuffer outputGradient(int count) {
    int bytes = Math.multiplyExact(count * outputs, Float.BYTES);
    outputGradient = atLeast(outputGradient, bytes);
    return outputGradient.slice(0, bytes).order(ByteOrder.nativeOrder());
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
