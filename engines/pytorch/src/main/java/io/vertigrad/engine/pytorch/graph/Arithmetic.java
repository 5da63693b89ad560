package io.vertigrad.engine.pytorch.graph;

import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.IValue;
import org.bytedeco.pytorch.IValueVector;

/**
 * Arithmetic on numbers, such as the sizes of a batch, as Python computes it: integers stay
 * integers, and {@code //} and {@code %} round down.
 *
 * @param target of the node
 * @param operands in their order
 * @param output slot of the result
 */
record Arithmetic(String target, List<OperatorStep.Element> operands, int output)
    implements GraphExecutor.Step {

  private static final Map<String, BinaryOperator<Number>> BINARY =
      Map.ofEntries(
          Map.entry("_operator.add", Arithmetic::add),
          Map.entry("_operator.sub", (a, b) -> add(a, multiply(b, -1L))),
          Map.entry("_operator.mul", Arithmetic::multiply),
          Map.entry("_operator.truediv", (a, b) -> a.doubleValue() / b.doubleValue()),
          Map.entry("_operator.floordiv", Arithmetic::floorDivide),
          Map.entry(
              "_operator.mod", (a, b) -> add(a, multiply(multiply(floorDivide(a, b), b), -1L))),
          Map.entry("_operator.pow", Arithmetic::power),
          Map.entry("_operator.and_", (a, b) -> a.longValue() & b.longValue()),
          Map.entry("_operator.or_", (a, b) -> a.longValue() | b.longValue()),
          Map.entry("_operator.eq", (a, b) -> flag(compare(a, b) == 0)),
          Map.entry("_operator.ne", (a, b) -> flag(compare(a, b) != 0)),
          Map.entry("_operator.lt", (a, b) -> flag(compare(a, b) < 0)),
          Map.entry("_operator.le", (a, b) -> flag(compare(a, b) <= 0)),
          Map.entry("_operator.gt", (a, b) -> flag(compare(a, b) > 0)),
          Map.entry("_operator.ge", (a, b) -> flag(compare(a, b) >= 0)),
          Map.entry("torch.sym_max", (a, b) -> compare(a, b) >= 0 ? a : b),
          Map.entry("torch.sym_min", (a, b) -> compare(a, b) <= 0 ? a : b));

  private static final Map<String, UnaryOperator<Number>> UNARY =
      Map.of(
          "_operator.neg", a -> multiply(a, -1L),
          "_operator.pos", a -> a,
          "math.trunc", Number::longValue,
          "math.floor", a -> (long) Math.floor(a.doubleValue()),
          "math.ceil", a -> (long) Math.ceil(a.doubleValue()),
          "torch.sym_int", Number::longValue,
          "torch.sym_float", Number::doubleValue,
          "torch.sym_not", a -> flag(a.doubleValue() == 0),
          "torch._sym_sqrt", a -> Math.sqrt(a.doubleValue()));

  private static final String CHOICE = "torch.sym_ite";

  /** Targets whose result is true or false. */
  private static final List<String> FLAGS =
      List.of(
          "_operator.eq",
          "_operator.ne",
          "_operator.lt",
          "_operator.le",
          "_operator.gt",
          "_operator.ge",
          "torch.sym_not");

  /** Checks the number of operands. */
  Arithmetic {
    int expected = BINARY.containsKey(target) ? 2 : UNARY.containsKey(target) ? 1 : 3;
    if (operands.size() != expected) {
      throw new IllegalArgumentException(
          "%s has %s operands, expected %s".formatted(target, operands.size(), expected));
    }
  }

  /** Returns whether a node of this target is arithmetic on numbers. */
  static boolean knows(String target) {
    return BINARY.containsKey(target) || UNARY.containsKey(target) || target.equals(CHOICE);
  }

  @Override
  public void run(IValue[] values, IValueVector stack, boolean training) {
    Number first = number(operands.get(0).in(values));
    Number result;
    if (UNARY.containsKey(target)) {
      result = UNARY.get(target).apply(first);
    } else {
      Number second = number(operands.get(1).in(values));
      result =
          target.equals(CHOICE)
              ? first.longValue() != 0 ? second : number(operands.get(2).in(values))
              : BINARY.get(target).apply(first, second);
    }
    if (FLAGS.contains(target)) {
      values[output] = new IValue(result.longValue() != 0);
    } else if (result instanceof Double real) {
      values[output] = new IValue((double) real);
    } else {
      values[output] = new IValue(result.longValue());
    }
  }

  private static Number number(IValue value) {
    if (value.isBool()) {
      return flag(value.toBool());
    }
    if (value.isDouble()) {
      return value.toDouble();
    }
    return value.toInt();
  }

  private static Number flag(boolean on) {
    return on ? 1L : 0L;
  }

  private static boolean integers(Number a, Number b) {
    return a instanceof Long && b instanceof Long;
  }

  private static Number add(Number a, Number b) {
    if (integers(a, b)) {
      return Math.addExact(a.longValue(), b.longValue());
    }
    return a.doubleValue() + b.doubleValue();
  }

  private static Number multiply(Number a, Number b) {
    if (integers(a, b)) {
      return Math.multiplyExact(a.longValue(), b.longValue());
    }
    return a.doubleValue() * b.doubleValue();
  }

  private static Number floorDivide(Number a, Number b) {
    if (integers(a, b)) {
      return Math.floorDiv(a.longValue(), b.longValue());
    }
    return Math.floor(a.doubleValue() / b.doubleValue());
  }

  private static Number power(Number a, Number b) {
    double power = Math.pow(a.doubleValue(), b.doubleValue());
    if (integers(a, b) && b.longValue() >= 0) {
      return (long) power;
    }
    return power;
  }

  private static int compare(Number a, Number b) {
    return integers(a, b)
        ? Long.compare(a.longValue(), b.longValue())
        : Double.compare(a.doubleValue(), b.doubleValue());
  }

  @Override
  public void close() {
    operands.stream().filter(one -> one.constant() != null).forEach(one -> one.constant().close());
  }
}
