package io.vertigrad.engine.pytorch;

import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A module's tensors laid out as its exchange vector: one direct buffer holds all parameters and
 * statistics, another their gradients. What is exchanged is read from them and written to them
 * without going through libtorch.
 *
 * <p>On the processor the module's tensors become views of these buffers. Elsewhere they are views
 * of tensors like them, and {@link FlatCopies} copies between the two.
 */
final class FlatTensors {

  /** A tensor of the module and the block it is to be. */
  record Bound(Block block, PtNDArray array) {}

  private static final float[] ZEROS = new float[8192];

  private final ParameterLayout layout;
  private final List<PtNDArray> ordered = new ArrayList<>();
  private final List<Integer> starts = new ArrayList<>();
  private final boolean[] adopted;
  private final ByteBuffer parameterBytes;
  private final ByteBuffer gradientBytes;
  private final FloatBuffer parameters;
  private final FloatBuffer gradients;
  private final float[] statistics;

  /** Null where the tensors are views of the buffers themselves. */
  private final FlatCopies copies;

  /**
   * Moves the tensors of a module into one buffer.
   *
   * @param bound every tensor once, of float32; the layout takes trainable ones first
   * @throws IllegalArgumentException when they are more than one buffer holds
   */
  FlatTensors(ScriptModule module, List<Bound> bound) {
    layout = new ParameterLayout(bound.stream().map(Bound::block).toList());
    int length;
    int bytes;
    try {
      length = layout.length();
      bytes = Math.multiplyExact(length, Float.BYTES);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException("its parameters take 2 GiB or more, expected less", e);
    }
    parameterBytes = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    gradientBytes = ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    parameters = parameterBytes.asFloatBuffer();
    gradients = gradientBytes.asFloatBuffer();
    statistics = new float[layout.statistics()];
    copies =
        module.place().isShared()
            ? null
            : new FlatCopies(module.manager(), parameterBytes, gradientBytes, layout.trainable());
    int start = 0;
    for (Block.Kind kind : List.of(Block.Kind.TRAINABLE, Block.Kind.STATISTIC)) {
      for (Bound one : bound) {
        if (one.block().kind() == kind) {
          move(one.array(), start, one.block().length());
          start += one.block().length();
        }
      }
    }
    adopted = new boolean[ordered.size()];
    if (copies != null) {
      copies.begun();
    }
  }

  /** The tensors of a network, in its order and by its names, which are those of every engine. */
  static FlatTensors of(ScriptModule module, Network network) {
    Map<String, PtNDArray> found = module.tensors();
    return new FlatTensors(
        module,
        network.arrays().stream()
            .map(array -> new Bound(array.block(), found.get(array.attribute())))
            .toList());
  }

  private void move(PtNDArray array, int start, int length) {
    if (copies == null) {
      ByteBuffer place = slice(parameterBytes, start, length);
      ByteBuffer values = array.toByteBuffer(true);
      place.duplicate().put(values);
      if (length > 0) {
        JniUtils.set(array, place);
      }
    } else if (length > 0) {
      copies.adopt(array, start);
    }
    ordered.add(array);
    starts.add(start);
  }

  /** Where a tensor's memory begins. */
  static long address(PtNDArray array) {
    ByteBuffer memory = array.toByteBuffer(true);
    return memory.capacity() == 0 ? 0 : Pointer.nativeValue(Native.getDirectBufferPointer(memory));
  }

  /** The tensors without those at the same address as one before. */
  static List<ScriptModule.Named> distinct(List<ScriptModule.Named> tensors) {
    Set<Long> seen = new HashSet<>();
    return tensors.stream()
        .filter(tensor -> tensor.array().size() == 0 || seen.add(address(tensor.array())))
        .toList();
  }

  ParameterLayout layout() {
    return layout;
  }

  /** Copies parameters and statistics out, as {@link io.vertigrad.compute.Model} says. */
  void readParameters(int first, FloatBuffer destination) {
    destination.put(range(parameters, first, destination.remaining()));
  }

  /** Copies them in. */
  void writeParameters(int first, FloatBuffer source) {
    range(parameters, first, source.remaining()).put(source);
    if (copies != null) {
      copies.written();
    }
  }

  /** Copies their gradients out. */
  void readGradient(int first, FloatBuffer destination) {
    destination.put(range(gradients, first, destination.remaining()));
  }

  /** The gradients of parameters and statistics in exchange order, at position 0. */
  FloatBuffer gradients() {
    return gradients.duplicate();
  }

  /** Before a forward pass in inference mode: the module computes with what was written. */
  void ready() {
    if (copies != null) {
      copies.push();
      // Those of a batch norm that was traced in training mode move even now.
      copies.statisticsMoved();
    }
  }

  /** Before a forward pass in training mode: remembers statistics, for {@link #undo}. */
  void remember() {
    parameters.get(layout.trainable(), statistics);
    if (copies != null) {
      copies.push();
    }
  }

  /** Before a forward and a backward pass: sets gradients to zero, and remembers statistics. */
  void begin() {
    if (copies == null) {
      FloatBuffer all = gradients.duplicate();
      while (all.hasRemaining()) {
        all.put(ZEROS, 0, Math.min(ZEROS.length, all.remaining()));
      }
    } else {
      copies.clearGradients();
    }
    remember();
  }

  /**
   * After a backward pass: the gradients are where they belong, and statistics are back at what
   * they were, their change left as the difference to subtract.
   */
  void end() {
    adoptGradients();
    if (copies != null) {
      copies.pull();
    }
    int first = layout.trainable();
    for (int i = 0; i < statistics.length; i++) {
      float moved = parameters.get(first + i);
      // Equal ones may be infinite.
      gradients.put(first + i, moved == statistics[i] ? 0 : statistics[i] - moved);
    }
    undo();
  }

  /** After a pass that failed, or was forward only: statistics are back at what they were. */
  void undo() {
    parameters.put(layout.trainable(), statistics);
    if (copies != null) {
      copies.statisticsMoved();
    }
  }

  /**
   * Makes gradients that libtorch has allocated views of the flat buffer; it adds to them from then
   * on. A parameter that no backward pass has reached yet has none.
   */
  private void adoptGradients() {
    int trainable = layout.trainable();
    for (int i = 0; i < adopted.length && starts.get(i) < trainable; i++) {
      if (!adopted[i]) {
        PtNDArray gradient = JniUtils.getGradient(ordered.get(i));
        if (gradient != null) {
          if (copies == null) {
            int length = Math.toIntExact(gradient.size());
            ByteBuffer place = slice(gradientBytes, starts.get(i), length);
            place.duplicate().put(gradient.toByteBuffer(true));
            JniUtils.set(gradient, place);
          } else {
            copies.adoptGradient(gradient, starts.get(i));
          }
          gradient.close();
          adopted[i] = true;
        }
      }
    }
  }

  /** Elements {@code [first, first + count)} of one of the two vectors. */
  private static FloatBuffer range(FloatBuffer vector, int first, int count) {
    if (first < 0 || first + (long) count > vector.capacity()) {
      throw new IndexOutOfBoundsException(
          "elements %d to %d: expected within 0 to %d"
              .formatted(first, first + (long) count, vector.capacity()));
    }
    return vector.slice(first, count);
  }

  private static ByteBuffer slice(ByteBuffer bytes, int start, int length) {
    return bytes.slice(start * Float.BYTES, length * Float.BYTES).order(ByteOrder.nativeOrder());
  }
}
