package io.vertigrad.benchmarks.jmh;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.GradientPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorView;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.MessageCodec;
import java.nio.FloatBuffer;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** Measures copying, making, encoding, decoding, checking and adding one partition. */
@State(Scope.Thread)
public class FrameBenchmark {

  private final MessageCodec<GradientPartition, Frame> codec =
      FrameCodecs.of(GradientPartition.class);
  private float[] values;
  private float[] destination;
  private TensorView float32;
  private TensorView float16;
  private TensorView bfloat16;
  private GradientPartition gradient;
  private Buffer encoded;

  @Setup
  public void prepare() {
    values = FullFrame.values(1);
    destination = new float[FullFrame.ELEMENTS];
    float32 = FullFrame.tensor(DataType.FLOAT32, 1);
    float16 = FullFrame.tensor(DataType.FLOAT16, 1);
    bfloat16 = FullFrame.tensor(DataType.BFLOAT16, 1);
    gradient = FullFrame.gradient(0, 0, float32);
    encoded = encode();
  }

  /** Copies one array into another, which is the limit. */
  @Benchmark
  public float[] arrayCopy() {
    System.arraycopy(values, 0, destination, 0, values.length);
    return destination;
  }

  /** Encodes as the bus does, into a message buffer that grows. */
  @Benchmark
  public Buffer encode() {
    Buffer wire = Buffer.buffer(1024);
    codec.encodeToWire(wire, gradient);
    return wire;
  }

  /** Validates, checks the checksum and returns a view; copies nothing. */
  @Benchmark
  public Frame decode() {
    return codec.decodeFromWire(0, encoded);
  }

  @Benchmark
  public Tensor makeTensor() {
    return Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(values));
  }

  /** Checks a tensor that was not checked before, because a checked tensor remembers the result. */
  @Benchmark
  public boolean isFinite() {
    return Tensor.wrap(DataType.FLOAT32, float32.bytes()).isFinite();
  }

  @Benchmark
  public float[] addFloat32() {
    return add(float32);
  }

  @Benchmark
  public float[] addFloat16() {
    return add(float16);
  }

  @Benchmark
  public float[] addBfloat16() {
    return add(bfloat16);
  }

  private float[] add(TensorView tensor) {
    tensor.addTo(destination, 0, 0.5f);
    return destination;
  }
}
