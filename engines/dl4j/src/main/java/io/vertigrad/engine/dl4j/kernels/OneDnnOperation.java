package io.vertigrad.engine.dl4j.kernels;

import java.lang.ref.Reference;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.IntMemoryMap;
import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive;
import org.bytedeco.dnnl.reorder;
import org.bytedeco.dnnl.stream;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.ndarray.INDArray;

/**
 * A primitive of oneDNN with its arguments. An argument whose layout is not the one that the
 * primitive wants is copied before or afterwards, into memory that belongs to this object.
 *
 * <p>For one thread at a time.
 */
final class OneDnnOperation {

  /**
   * @param given the caller's array
   * @param wanted what the primitive reads or writes; the same object if no copy is needed
   * @param copy copies from one to the other; null if no copy is needed
   */
  private record Argument(boolean isResult, memory given, memory wanted, reorder copy) {}

  private final stream stream;
  private final primitive primitive;
  private final List<Argument> arguments = new ArrayList<>();
  private final IntMemoryMap map = new IntMemoryMap();
  private final List<Pointer> owned = new ArrayList<>();

  /**
   * Creates an operation without arguments.
   *
   * @param scratch memory for intermediate values, as the primitive's description asks for
   */
  OneDnnOperation(stream stream, primitive primitive, memory scratch) {
    this.stream = stream;
    this.primitive = primitive;
    owned.add(primitive);
    owned.add(map);
    map.put(dnnl.DNNL_ARG_SCRATCHPAD, scratch);
  }

  /** Adds an array that the primitive reads. */
  OneDnnOperation reads(int argument, memory.desc given, memory.desc wanted) {
    return add(argument, false, given, wanted);
  }

  /** Adds an array that the primitive writes. */
  OneDnnOperation writes(int argument, memory.desc given, memory.desc wanted) {
    return add(argument, true, given, wanted);
  }

  private OneDnnOperation add(
      int argument, boolean isResult, memory.desc given, memory.desc wanted) {
    memory outside = own(new memory(given, OneDnn.processor(), null));
    memory inside = outside;
    reorder copy = null;
    if (!given.equals(wanted)) {
      inside = own(new memory(wanted, OneDnn.processor()));
      copy = own(isResult ? new reorder(inside, outside) : new reorder(outside, inside));
    }
    arguments.add(new Argument(isResult, outside, inside, copy));
    map.put(argument, inside);
    return this;
  }

  private <T extends Pointer> T own(T pointer) {
    owned.add(pointer);
    return pointer;
  }

  /** Computes; takes one array for each argument, in the order in which they were added. */
  void run(INDArray... arrays) {
    for (int i = 0; i < arrays.length; i++) {
      Argument argument = arguments.get(i);
      argument.given().set_data_handle(arrays[i].data().addressPointer());
      if (argument.copy() != null && !argument.isResult()) {
        argument.copy().execute(stream, argument.given(), argument.wanted());
      }
    }
    primitive.execute(stream, map);
    for (Argument argument : arguments) {
      if (argument.copy() != null && argument.isResult()) {
        argument.copy().execute(stream, argument.wanted(), argument.given());
      }
    }
    stream._wait();
    Reference.reachabilityFence(arrays);
  }

  void close() {
    owned.forEach(Pointer::deallocate);
  }
}
