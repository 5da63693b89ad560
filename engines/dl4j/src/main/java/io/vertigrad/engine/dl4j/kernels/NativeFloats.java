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
 * Buffers that lie directly over an array's native memory, for copies at memory speed.
 *
 * <p>ND4J's own {@code asNio()} ignores the offset of a view and cuts silently beyond 2 GB; this
 * starts at the view's first element and refuses what it cannot cover. The array must stay
 * referenced for as long as the buffer is used.
 */
public final class NativeFloats {

  private static final long LARGEST = Integer.MAX_VALUE / Float.BYTES;

  private NativeFloats() {}

  /** Brings an array that was computed on a GPU back to the memory that these buffers cover. */
  public static void fetch(INDArray array) {
    Nd4j.getAffinityManager().ensureLocation(array, AffinityManager.Location.HOST);
  }

  /** Says that an array was written through a buffer, so that a GPU takes its new values. */
  public static void written(INDArray array) {
    Nd4j.getAffinityManager().tagLocation(array, AffinityManager.Location.HOST);
  }

  /** The elements of a contiguous float array, in the order of its memory. */
  public static FloatBuffer of(INDArray array) {
    return bytes(array).asFloatBuffer();
  }

  /** A copy of the elements, in the same order. */
  static float[] values(INDArray array) {
    float[] values = new float[(int) array.length()];
    of(array).get(values);
    return values;
  }

  /** The same memory as the raw bits of its floats. */
  static IntBuffer bits(INDArray array) {
    return bytes(array).asIntBuffer();
  }

  private static ByteBuffer bytes(INDArray array) {
    if (array.dataType() != DataType.FLOAT || array.length() > LARGEST) {
      throw new IllegalArgumentException(
          "array of %d %s: expected at most %d FLOAT"
              .formatted(array.length(), array.dataType(), LARGEST));
    }
    long bytes = array.length() * Float.BYTES;
    BytePointer start = new BytePointer(new Address(address(array)));
    start.position(0).limit(bytes).capacity(bytes);
    return start.asByteBuffer().order(ByteOrder.nativeOrder());
  }

  /** The array itself if its memory is contiguous and row by row, otherwise a copy that is. */
  public static INDArray rows(INDArray array) {
    boolean rows = array.ordering() == 'c' && Shape.hasDefaultStridesForShape(array);
    return rows ? array : array.dup('c');
  }

  /** Where the first element lies. */
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
