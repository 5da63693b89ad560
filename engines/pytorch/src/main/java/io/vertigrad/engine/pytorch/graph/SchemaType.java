package io.vertigrad.engine.pytorch.graph;

import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.bytedeco.pytorch.Argument;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.GenericList;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.Type;
import org.bytedeco.pytorch.global.torch;

/** The type of an argument in an operator's schema, and constants in that type. */
final class SchemaType {

  /** The type of an operand of arithmetic: whatever number it is. */
  static final SchemaType ANY = new SchemaType("Scalar", null, 0);

  private static final String LIST = "[]";
  private static final Set<String> INTEGERS = Set.of("int", "SymInt");

  private static final String TENSOR = "Tensor";

  /** As ATen writes it, without the mark of an optional argument; of a list its elements'. */
  private final String base;

  /** Null unless it is a list. */
  private final Type.TypePtr element;

  /** Length of a list that one number stands for; 0 if none does. */
  private final int length;

  private SchemaType(String base, Type.TypePtr element, int length) {
    this.base = base;
    this.element = element;
    this.length = length;
  }

  /** Reads the type of an argument. The objects belong to the innermost {@code PointerScope}. */
  SchemaType(Argument argument) {
    Type.TypePtr type = argument.type();
    while (text(type).endsWith("?")) {
      type = type.get().containedType(0);
    }
    boolean list = text(type).endsWith(LIST);
    this.element = list ? type.get().containedType(0) : null;
    this.base = withoutMark(text(list ? element : type));
    this.length = list && argument.N().has_value() ? argument.N().get() : 0;
  }

  private static String text(Type.TypePtr type) {
    return type.get().str().getString();
  }

  private static String withoutMark(String text) {
    return text.endsWith("?") ? text.substring(0, text.length() - 1) : text;
  }

  /** Returns the type of a list's elements. */
  Type.TypePtr element() {
    if (element == null) {
      throw new IllegalArgumentException("a list, expected " + base);
    }
    return element;
  }

  /** Returns the type of a list's elements. */
  SchemaType ofElements() {
    return new SchemaType(base, null, 0);
  }

  /**
   * Returns a constant in this type, which belongs to the innermost {@code PointerScope}.
   *
   * @param value a constant or a list of constants
   * @param device that stands for the device of the file
   * @throws IllegalArgumentException saying what was found and what was expected
   */
  IValue constant(Graph.Value value, Device device) {
    if (value instanceof Graph.Elements list) {
      return list(list.elements(), device);
    }
    Object found = ((Graph.Constant) value).value();
    if (found == null) {
      return new IValue();
    }
    if (element != null) {
      if (length == 0) {
        throw new IllegalArgumentException("%s, expected a list of %s".formatted(found, base));
      }
      return list(Collections.nCopies(length, value), device);
    }
    return scalar(found, device);
  }

  private IValue list(List<Graph.Value> elements, Device device) {
    GenericList list = new GenericList(element());
    SchemaType type = ofElements();
    elements.forEach(one -> list.push_back(type.constant(one, device)));
    return new IValue(list);
  }

  /** Returns whether numbers are passed to it as tensors without dimensions. */
  boolean isTensor() {
    return base.equals(TENSOR) && element == null;
  }

  /**
   * Returns a number as the tensor that PyTorch makes of a number of Python: it does not decide the
   * type of a result. It belongs to the innermost {@code PointerScope}.
   */
  static IValue wrapped(IValue number, Device device) {
    return new IValue(torch.wrapped_scalar_tensor(number.toScalar(), device));
  }

  private IValue scalar(Object found, Device device) {
    boolean any = base.equals("Scalar") || isTensor();
    boolean fits = true;
    IValue value = null;
    if (found instanceof Long number) {
      fits = any || base.equals("float") || INTEGERS.contains(base);
      value = base.equals("float") ? new IValue((double) number) : new IValue((long) number);
    } else if (found instanceof Double number) {
      fits = any || base.equals("float");
      value = new IValue((double) number);
    } else if (found instanceof Boolean flag) {
      fits = any || base.equals("bool");
      value = new IValue((boolean) flag);
    } else if (found instanceof String text) {
      fits = base.equals("str");
      value = new IValue(text);
    } else if (found instanceof Graph.Place) {
      fits = base.equals("Device");
      value = new IValue(device);
    } else if (found instanceof Graph.Special special) {
      fits = INTEGERS.contains(base);
      value = new IValue(number(special));
    }
    if (!fits || value == null) {
      throw new IllegalArgumentException("%s, expected %s".formatted(found, base));
    }
    return isTensor() ? wrapped(value, device) : value;
  }

  private static long number(Graph.Special special) {
    if (special instanceof Graph.Type type) {
      return type.number();
    }
    return special instanceof Graph.Layout layout
        ? layout.number()
        : ((Graph.Memory) special).number();
  }
}
