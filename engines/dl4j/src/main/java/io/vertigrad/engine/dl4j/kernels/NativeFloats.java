package io.vertigrad.engine.dl4j.kernels;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.concurrency.AffinityManager;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.shape.Shape;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Buffers directly over an array's native memory, for copies at memory speed.
 *
 * <p>ND4J's own {@code asNio()} ignores the offset of a view and silently truncates beyond 2 GB.
 * These buffers start at the view's first element, and an array that is too large is refused. The
 * array must stay referenced while the buffer is used.
 */
public final class NativeFloats {

  private static final long LARGEST = Integer.MAX_VALUE / Float.BYTES;

  private NativeFloats() {}

  /** Copies an array that was computed on a GPU to the memory that these buffers cover. */
  public static void fetch(INDArray array) {
    Nd4j.getAffinityManager().ensureLocation(array, AffinityManager.Location.HOST);
  }

  /** Marks an array as written through a buffer, so that a GPU reads its new values. */
  public static void written(INDArray array) {
    Nd4j.getAffinityManager().tagLocation(array, AffinityManager.Location.HOST);
  }

  /** Returns the elements of a contiguous float array, in the order of its memory. */
  public static FloatBuffer of(INDArray array) {
    return bytes(array).asFloatBuffer();
  }

  /** Returns a copy of the elements, in the same order. */
  static float[] values(INDArray array) {
    float[] values = new float[(int) array.length()];
    of(array).get(values);
    return values;
  }

  /** Returns a view of the same memory as the raw bits of its floats. */
  static IntBuffer bits(INDArray array) {
    return bytes(array).asIntBuffer();
  }

  private static ByteBuffer bytes(INDArray array) {
    if (array.dataType() != DataType.FLOAT || array.length() > LARGEST) {
      throw new IllegalArgumentException(
          "array of %s %s: expected at most %s FLOAT"
              .formatted(array.length(), array.dataType(), LARGEST));
    }
    long bytes = array.length() * Float.BYTES;
    BytePointer start = new BytePointer(new Address(address(array)));
    start.position(0).limit(bytes).capacity(bytes);
    return start.asByteBuffer().order(ByteOrder.nativeOrder());
  }

  /**
   * Returns the array itself if its memory is contiguous and row by row, otherwise a copy with that
   * layout.
   */
  public static INDArray rows(INDArray array) {
    boolean rows = array.ordering() == 'c' && Shape.hasDefaultStridesForShape(array);
    return rows ? array : array.dup('c');
  }

  /** Returns the address of the first element. */
  public static long address(INDArray array) {
    return array.data().addressPointer().address();
  }

  /** A pointer to memory that it does not own. */
  private static final class Address extends Pointer {

    Address(long address) {
      this.address = address;
    }
  }
}
