package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Model;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Tensors in the memory of Java's direct buffers, and buffers in the memory of tensors. The native
 * objects that these methods make belong to the innermost {@code PointerScope} of the thread.
 */
final class TensorBuffers {

  private TensorBuffers() {}

  /**
   * Returns a tensor of the processor in the memory of a buffer, which must outlive the tensor.
   *
   * @param buffer direct, in native order, from its first byte on
   */
  static Tensor tensor(ByteBuffer buffer, ScalarType type, long... shape) {
    return torch.from_blob(new BytePointer(buffer), shape, new TensorOptions(type));
  }

  /** Returns the buffer if it has room for these bytes, else a new direct one. */
  static ByteBuffer atLeast(ByteBuffer buffer, int bytes) {
    return buffer.capacity() >= bytes
        ? buffer
        : ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  /**
   * Returns the values of a tensor of float32: its own memory if Java can read it, else a copy. The
   * buffer is valid until the scope closes.
   */
  static FloatBuffer values(Tensor tensor) {
    long length = tensor.numel();
    if (length == 0) {
      return FloatBuffer.allocate(0);
    }
    Tensor here = (tensor.is_cpu() ? tensor : tensor.cpu()).contiguous();
    return new BytePointer(here.data_ptr())
        .capacity(length * Float.BYTES)
        .asByteBuffer()
        .asFloatBuffer();
  }

  /** Returns a copy of a tensor's values for a file of safetensors. */
  @SuppressWarnings("try")
  static Model.State state(String name, Tensor tensor) {
    try (PointerScope temporary = new PointerScope()) {
      Tensor here = (tensor.is_cpu() ? tensor : tensor.cpu()).contiguous();
      ByteBuffer values = ByteBuffer.allocate(Math.toIntExact(here.nbytes()));
      if (values.hasRemaining()) {
        values.put(new BytePointer(here.data_ptr()).capacity(here.nbytes()).asByteBuffer());
      }
      List<Integer> shape = Arrays.stream(here.shape()).mapToObj(Math::toIntExact).toList();
      return new Model.State(name, safetensors(name, type(here)), shape, values.flip());
    }
  }

  private static String safetensors(String name, ScalarType type) {
    return switch (type) {
      case Float -> "F32";
      case Half -> "F16";
      case BFloat16 -> "BF16";
      case Double -> "F64";
      case Bool -> "BOOL";
      case Byte -> "U8";
      case Char -> "I8";
      case Short -> "I16";
      case Int -> "I32";
      case Long -> "I64";
      default ->
          throw new IllegalArgumentException(
              "tensor %s is of %s, which safetensors does not have: export the model as pt2 or pt"
                  .formatted(name, name(type)));
    };
  }

  /** Returns the type of a tensor's elements. */
  static ScalarType type(Tensor tensor) {
    return tensor.scalar_type().intern();
  }

  /** Returns the name that PyTorch has for a type in Python: {@code float32}, {@code int64}. */
  static String name(ScalarType type) {
    return switch (type) {
      case Half -> "float16";
      case Float -> "float32";
      case Double -> "float64";
      case Byte -> "uint8";
      case Char -> "int8";
      case Short -> "int16";
      case Int -> "int32";
      case Long -> "int64";
      case ComplexFloat -> "complex64";
      case ComplexDouble -> "complex128";
      default -> type.name().toLowerCase(Locale.ROOT);
    };
  }
}
