package io.vertigrad.engine.pytorch;

import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.engine.PtNDManager;
import ai.djl.pytorch.jni.JniUtils;
import io.vertigrad.compute.Batch;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.Score;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** A TorchScript module as the rest of the project sees it. */
final class PyTorchModel implements Model {

  private static final ByteBuffer NOTHING = ByteBuffer.allocateDirect(0);

  private final String name;
  private final ScriptModule module;
  private final FlatTensors tensors;
  private final List<Integer> sample;
  private final int sampleLength;
  private final int classes;
  private final Thread owner = Thread.currentThread();

  private ByteBuffer features = NOTHING;
  private ByteBuffer outputGradient = NOTHING;
  private int correct;

  /**
   * A model over a module that fits.
   *
   * @param sample one sample's dimensions as the module takes them
   * @param classes number of outputs
   */
  PyTorchModel(
      String name, ScriptModule module, FlatTensors tensors, List<Integer> sample, int classes) {
    this.name = name;
    this.module = module;
    this.tensors = tensors;
    this.sample = List.copyOf(sample);
    this.sampleLength = sample.stream().reduce(1, Math::multiplyExact);
    this.classes = classes;
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
    check(batch);
    module.training(true);
    tensors.begin();
    boolean done = false;
    JniUtils.setGradMode(true);
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      PtNDArray output = output(step, batch);
      CrossEntropy loss = new CrossEntropy(values(output), classes);
      ByteBuffer gradient = outputGradient(batch.count());
      loss.gradient(batch.labels(), gradient.asFloatBuffer(), 1f / batch.count());
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
        tensors.undo();
      }
    }
  }

  @Override
  public int correct() {
    return correct;
  }

  @Override
  public Score score(Batch batch, int topK) {
    return answered(batch).score(batch.labels(), topK);
  }

  @Override
  public float[] probabilities(Batch batch, int outputs) {
    return answered(batch).probabilities();
  }

  private CrossEntropy answered(Batch batch) {
    check(batch);
    module.training(false);
    try (PtNDManager step = (PtNDManager) module.manager().newSubManager()) {
      return new CrossEntropy(values(output(step, batch)), classes);
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
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
      module.save(out);
    }
  }

  @Override
  public void close() {
    module.close();
  }

  private PtNDArray output(PtNDManager step, Batch batch) {
    int bytes = Math.multiplyExact(batch.features().length, Float.BYTES);
    features = atLeast(features, bytes);
    features.asFloatBuffer().put(batch.features());
    PtNDArray input =
        step.create(features.slice(0, bytes), inputShape(batch.count()), DataType.FLOAT32);
    PtNDArray output = module.forward(input);
    if (output.size() != (long) batch.count() * classes
        || output.getDataType() != DataType.FLOAT32) {
      throw new IllegalStateException(
          "model %s: its output for %d samples is %s of %s, expected [%d, %d] of float32"
              .formatted(
                  name,
                  batch.count(),
                  output.getShape(),
                  output.getDataType(),
                  batch.count(),
                  classes));
    }
    return output;
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

  /** As long as it has to be: DJL sets limits of longer ones. */
  private ByteBuffer outputGradient(int count) {
    int bytes = count * classes * Float.BYTES;
    outputGradient = atLeast(outputGradient, bytes);
    return outputGradient.slice(0, bytes).order(ByteOrder.nativeOrder());
  }

  static ByteBuffer atLeast(ByteBuffer buffer, int bytes) {
    return buffer.capacity() >= bytes
        ? buffer
        : ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  private void check(Batch batch) {
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
    for (int i = 0; i < batch.count(); i++) {
      int label = batch.labels()[i];
      if (label < 0 || label >= classes) {
        throw new IllegalArgumentException(
            "label %d of sample %d: expected 0 to %d".formatted(label, i, classes - 1));
      }
    }
  }
}
