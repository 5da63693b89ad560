package io.vertigrad.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.buffer.BufferInternal;
import java.lang.management.ManagementFactory;
import java.nio.FloatBuffer;
import org.junit.jupiter.api.Test;

/** Tests who owns the memory of a tensor that was sent or received. */
class FrameOwnershipTest {

  private static final GradientPartition FULL =
      new GradientPartition(
          Frames.ID, 0, 0, 1, 0, Tensor.ofFloats(new float[FrameLimits.MAX_ELEMENTS]));

  @Test
  void shouldKeepItsNumbersWhenTheWireBufferWasOutsideTheHeap() {
    ByteBuf direct = Unpooled.directBuffer().writeBytes(Frames.encode(Frames.GRADIENT));

    Frame decoded = Frames.codec(Frames.GRADIENT).decodeFromWire(0, BufferInternal.buffer(direct));
    direct.setZero(0, direct.writerIndex()).release();

    assertEquals(Frames.GRADIENT, decoded);
  }

  @Test
  void shouldKeepItsNumbersWhenItsMemoryWasOnlyLent() {
    for (Frame frame : Frames.EVERY) {
      ByteBuf memory = Unpooled.directBuffer().writeBytes(Frames.encode(frame));
      Frame lent = FrameCodecs.decodeLent(BufferInternal.buffer(memory));

      Frame kept = lent.retain();
      memory.setZero(0, memory.writerIndex());

      assertEquals(frame, kept);
      assertSame(kept, kept.retain());
      memory.release();
    }
  }

  @Test
  void shouldCopyNoPayloadWhenTheWireBufferIsOnTheHeap() {
    Buffer wire = Buffer.buffer(Frames.encode(FULL));
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Frames.codec(FULL).decodeFromWire(0, wire);
    long before = threads.getCurrentThreadAllocatedBytes();

    Frame decoded = Frames.codec(FULL).decodeFromWire(0, wire);

    long allocated = threads.getCurrentThreadAllocatedBytes() - before;
    assertEquals(FULL, decoded);
    assertTrue(allocated < FrameLimits.MAX_PAYLOAD_BYTES / 8, "allocated " + allocated);
  }

  @Test
  void shouldReleaseTheSourceWhenATensorIsCopied() {
    float[] source = {1, 2, 3};
    TensorView tensor = Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(source));

    source[0] = 9;

    assertEquals(Tensor.ofFloats(1, 2, 3), tensor);
  }

  @Test
  void shouldTravelWhenMadeFromReadOnlyBytes() {
    TensorView readOnly = Tensor.wrap(DataType.FLOAT32, Frames.GRADIENT.gradient().bytes());
    GradientPartition sent = new GradientPartition(Frames.ID, 7, 8, 9, 10, readOnly);

    Frame received = Frames.decode(sent, Frames.encode(sent));

    assertEquals(
        Frames.GRADIENT.gradient(), assertInstanceOf(GradientPartition.class, received).gradient());
  }

  @Test
  void shouldLeaveTheTensorUnreadWhenEncodedTwice() {
    Buffer wire = Buffer.buffer();

    Frames.encode(Frames.PARAMETERS, wire);
    int length = wire.length();
    Frames.encode(Frames.PARAMETERS, wire);

    assertEquals(wire.getBuffer(0, length), wire.getBuffer(length, 2 * length));
  }
}
