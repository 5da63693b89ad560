package io.vertigrad.engine.pytorch.graph;

import java.util.List;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;
import org.bytedeco.pytorch.OperatorHandle;
import org.bytedeco.pytorch.Type;

/**
 * A call of one of ATen's operators.
 *
 * @param training arguments in training mode, with anything in the places that {@code passed} fills
 * @param inference arguments in inference mode
 * @param passed the arguments that are values of the graph
 * @param outputs slots of each returned value; -1 where it is not used
 * @param lists whether each returned value is a list of tensors
 * @param changed slot of the value that it changes in place and returns, if that may be a buffer or
 *     a view of one, which it only changes in training mode; -1 if not
 * @param buffer slot of that buffer
 * @param device of numbers that are passed as tensors
 */
record OperatorStep(
    OperatorHandle operator,
    IValueVector training,
    IValueVector inference,
    List<Passed> passed,
    int[][] outputs,
    boolean[] lists,
    int changed,
    int buffer,
    Device device)
    implements GraphExecutor.Step {

  /**
   * An argument that is a value of the graph, or a list with at least one.
   *
   * @param position among the arguments
   * @param type of the list's elements; null for a single value
   * @param elements one for a single value
   * @param tensor whether it is a tensor, so that a number becomes one
   */
  record Passed(int position, Type.TypePtr type, List<Element> elements, boolean tensor) {}

  /**
   * A value of the graph or a constant.
   *
   * @param slot of the value; -1 for a constant
   * @param constant null for a value of the graph
   */
  record Element(int slot, IValue constant) {

    IValue in(IValue[] values) {
      return slot < 0 ? constant : values[slot];
    }
  }

  @Override
  public void run(IValue[] values, IValueVector stack, boolean train) {
    if (!train && changesBuffer(values)) {
      for (int[] slots : outputs) {
        set(values, slots[0], values[changed]);
      }
      return;
    }
    stack.put(train ? training : inference);
    for (Passed argument : passed) {
      if (argument.type() == null) {
        IValue value = argument.elements().get(0).in(values);
        boolean number = argument.tensor() && value.isScalar();
        stack.put(argument.position(), number ? SchemaType.wrapped(value, device) : value);
      } else {
        GenericList list = new GenericList(argument.type());
        argument.elements().forEach(one -> list.push_back(one.in(values)));
        stack.put(argument.position(), new IValue(list));
      }
    }
    operator.callBoxed(stack);
    for (int i = 0; i < outputs.length; i++) {
      IValue returned = stack.get(i);
      if (lists[i]) {
        GenericList list = returned.toList();
        requireLength(list.size(), outputs[i].length);
        for (int j = 0; j < outputs[i].length; j++) {
          set(values, outputs[i][j], list.get(j));
        }
      } else {
        set(values, outputs[i][0], returned);
      }
    }
  }

  /** Operators such as {@code to} and {@code reshape} return a view or a copy. */
  private boolean changesBuffer(IValue[] values) {
    return changed >= 0
        && (changed == buffer || values[changed].toTensor().is_alias_of(values[buffer].toTensor()));
  }

  private static void requireLength(long found, int expected) {
    if (found != expected) {
      throw new IllegalArgumentException(
          "a list of %s tensors where the file has %s".formatted(found, expected));
    }
  }

  private static void set(IValue[] values, int slot, IValue value) {
    if (slot >= 0) {
      values[slot] = new IValue(value);
    }
  }

  @Override
  public void close() {
    operator.close();
    training.close();
    inference.close();
    for (Passed argument : passed) {
      if (argument.type() != null) {
        argument.type().close();
      }
      argument.elements().stream()
          .filter(one -> one.constant() != null)
          .forEach(one -> one.constant().close());
    }
  }
}
