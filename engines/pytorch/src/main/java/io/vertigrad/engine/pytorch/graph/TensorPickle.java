package io.vertigrad.engine.pytorch.graph;

import io.vertigrad.compute.settings.JsonText;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Reads the pickle of a dictionary of tensors that {@code torch.save} wrote. It knows the
 * operations and the functions that such a pickle needs and calls nothing: every other one is
 * refused by its name.
 */
final class TensorPickle {

  /** Where a storage is, as a persistent id says it. */
  private record Storage(ElementType type, String key, long length) {}

  /** A class or a function. */
  private record Global(String name) {}

  /**
   * A tensor.
   *
   * @param view of it in its storage
   * @param storage the file's name for it
   * @param storageLength elements of the storage
   */
  record Saved(TensorView view, String storage, long storageLength) {}

  private static final int MOST_STACK = 1 << 20;

  /** Operations of a pickle. PyTorch needs about fifty for a tensor; one may take 100 bytes. */
  private static final int MOST_OPERATIONS = 1 << 21;

  private static final String ORDERED = "collections.OrderedDict";
  private static final String TENSOR = "torch._utils._rebuild_tensor_v2";
  private static final String PARAMETER = "torch._utils._rebuild_parameter";
  private static final String MARKED_PARAMETER = "torch._utils._rebuild_parameter_with_state";
  private static final String MARKED = "torch._tensor._rebuild_from_type_v2";
  private static final String STORAGE = "torch.";

  /** Classes of dense tensors. */
  private static final Set<String> TENSORS =
      Set.of("torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer");

  /** Marks the place on the stack where a tuple, a list or the items of a dictionary begin. */
  private static final Object MARK = new Object();

  /** The value None, which an {@link ArrayDeque} cannot hold itself. */
  private static final Object NONE = new Object();

  private final String file;
  private final ByteBuffer bytes;
  private final Deque<Object> stack = new ArrayDeque<>();
  private final Map<Long, Object> memo = new HashMap<>();

  private TensorPickle(String file, byte[] bytes) {
    this.file = file;
    this.bytes = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Reads a pickle.
   *
   * @param file its name in messages
   * @return tensors by their names, in the dictionary's order
   * @throws ArchiveException when it is something else, or damaged
   */
  static Map<String, Saved> read(String file, byte[] bytes) throws ArchiveException {
    TensorPickle pickle = new TensorPickle(file, bytes);
    Object found;
    try {
      found = pickle.run();
    } catch (BufferUnderflowException e) {
      throw pickle.refused("ends too early");
    }
    if (!(found instanceof Map<?, ?> dictionary)) {
      throw pickle.refused("is %s, expected a dictionary of tensors".formatted(kind(found)));
    }
    Map<String, Saved> tensors = new LinkedHashMap<>();
    for (Map.Entry<?, ?> one : dictionary.entrySet()) {
      if (!(one.getValue() instanceof Saved tensor)) {
        throw pickle.refused(
            "has %s under %s, expected a tensor"
                .formatted(kind(one.getValue()), JsonText.shown((String) one.getKey())));
      }
      tensors.put((String) one.getKey(), tensor);
    }
    return tensors;
  }

  private Object run() throws ArchiveException {
    for (int i = 0; i < MOST_OPERATIONS; i++) {
      int operation = bytes.get() & 0xff;
      if (operation == '.') {
        return pop();
      }
      execute(operation);
      if (stack.size() > MOST_STACK) {
        throw refused("has more than %s values at a time".formatted(MOST_STACK));
      }
    }
    throw refused("has more than %s operations".formatted(MOST_OPERATIONS));
  }

  private void execute(int operation) throws ArchiveException {
    switch (operation) {
      case 0x80 -> checkProtocol(bytes.get() & 0xff);
      case '}' -> stack.push(new LinkedHashMap<String, Object>());
      case ']' -> stack.push(new ArrayList<>());
      case ')' -> stack.push(List.of());
      case '(' -> stack.push(MARK);
      case 'N' -> stack.push(NONE);
      case 0x88 -> stack.push(true);
      case 0x89 -> stack.push(false);
      case 'K' -> stack.push((long) (bytes.get() & 0xff));
      case 'M' -> stack.push((long) (bytes.getShort() & 0xffff));
      case 'J' -> stack.push((long) bytes.getInt());
      case 0x8a -> stack.push(longNumber(bytes.get() & 0xff));
      // Only this number is big-endian.
      case 'G' -> stack.push(Double.longBitsToDouble(Long.reverseBytes(bytes.getLong())));
      case 'X' -> stack.push(text(bytes.getInt() & 0xffffffffL));
      case 'c' -> stack.push(global());
      case 'q' -> memo.put((long) (bytes.get() & 0xff), top());
      case 'r' -> memo.put(bytes.getInt() & 0xffffffffL, top());
      case 'h' -> stack.push(remembered(bytes.get() & 0xff));
      case 'j' -> stack.push(remembered(bytes.getInt() & 0xffffffffL));
      case 't' -> stack.push(marked());
      case 0x85 -> stack.push(last(1));
      case 0x86 -> stack.push(last(2));
      case 0x87 -> stack.push(last(3));
      case 'Q' -> stack.push(storage(pop()));
      case 'R' -> reduce();
      case 's' -> setItems(last(2));
      case 'u' -> setItems(marked());
      case 'a' -> append(last(1));
      case 'e' -> append(marked());
      case 'b' -> build();
      default ->
          throw refused(
              "has the operation 0x%02x at byte %s, which no dictionary of tensors needs"
                  .formatted(operation, bytes.position() - 1));
    }
  }

  private void checkProtocol(int protocol) throws ArchiveException {
    if (protocol != 2) {
      throw refused("is of protocol %s, expected 2, the default of PyTorch".formatted(protocol));
    }
  }

  private long longNumber(int count) throws ArchiveException {
    if (count > Long.BYTES) {
      throw refused("has a number of %s bytes, expected at most 8".formatted(count));
    }
    long number = 0;
    for (int i = 0; i < count; i++) {
      long part = i == count - 1 ? bytes.get() : bytes.get() & 0xff;
      number |= part << Byte.SIZE * i;
    }
    return number;
  }

  private String text(long count) throws ArchiveException {
    if (count > bytes.remaining()) {
      throw refused("has a text of %s bytes, %s are left".formatted(count, bytes.remaining()));
    }
    byte[] text = new byte[(int) count];
    bytes.get(text);
    return new String(text, StandardCharsets.UTF_8);
  }

  private Global global() throws ArchiveException {
    String name = line() + "." + line();
    boolean known =
        name.equals(ORDERED)
            || name.equals(TENSOR)
            || name.equals(PARAMETER)
            || name.equals(MARKED_PARAMETER)
            || name.equals(MARKED)
            || TENSORS.contains(name)
            || name.startsWith(STORAGE)
                && ElementType.ofStorage(name.substring(STORAGE.length())).isPresent();
    if (!known) {
      throw refused(
          "calls %s, expected dense tensors and nothing else".formatted(JsonText.shown(name)));
    }
    return new Global(name);
  }

  private String line() {
    int from = bytes.position();
    while (bytes.get() != '\n') {
      // The position moves to the line's end.
    }
    return new String(bytes.array(), from, bytes.position() - 1 - from, StandardCharsets.UTF_8);
  }

  private Object top() throws ArchiveException {
    if (stack.isEmpty()) {
      throw refused("takes a value where there is none");
    }
    return stack.peek();
  }

  private Object pop() throws ArchiveException {
    Object top = top();
    stack.pop();
    return top;
  }

  private Object remembered(long key) throws ArchiveException {
    Object value = memo.get(key);
    if (value == null) {
      throw refused("repeats value %s, which it does not have".formatted(key));
    }
    return value;
  }

  private List<Object> last(int count) throws ArchiveException {
    Object[] values = new Object[count];
    for (int i = count - 1; i >= 0; i--) {
      values[i] = pop();
    }
    return List.of(values);
  }

  private List<Object> marked() throws ArchiveException {
    Deque<Object> values = new ArrayDeque<>();
    for (Object value = pop(); value != MARK; value = pop()) {
      values.push(value);
    }
    return new ArrayList<>(values);
  }

  private Storage storage(Object id) throws ArchiveException {
    if (id instanceof List<?> parts
        && parts.size() == 5
        && "storage".equals(parts.get(0))
        && parts.get(1) instanceof Global type
        && parts.get(2) instanceof String key
        && parts.get(4) instanceof Long length
        && type.name.startsWith(STORAGE)
        && length >= 0) {
      Optional<ElementType> elements = ElementType.ofStorage(type.name.substring(STORAGE.length()));
      if (elements.isPresent()) {
        return new Storage(elements.get(), key, length);
      }
    }
    throw refused("refers to something else than a storage");
  }

  /** Replaces a function and its arguments by what the function would return. */
  private void reduce() throws ArchiveException {
    List<Object> call = last(2);
    if (!(call.get(0) instanceof Global function && call.get(1) instanceof List<?> arguments)) {
      throw refused("calls %s".formatted(kind(call.get(0))));
    }
    stack.push(
        switch (function.name) {
          case ORDERED -> ordered(arguments);
          case MARKED -> marked(arguments);
          default -> tensor(function, arguments);
        });
  }

  private Saved tensor(Global function, List<?> arguments) throws ArchiveException {
    return switch (function.name) {
      case TENSOR -> tensor(arguments);
      case PARAMETER, MARKED_PARAMETER -> parameter(arguments);
      default -> throw refused("calls %s".formatted(function.name));
    };
  }

  /** Reads a tensor with Python attributes, such as a {@code Buffer}, and ignores those. */
  private Saved marked(List<?> arguments) throws ArchiveException {
    if (arguments.size() == 4
        && arguments.get(0) instanceof Global function
        && arguments.get(1) instanceof Global type
        && arguments.get(2) instanceof List<?> inner
        && TENSORS.contains(type.name)) {
      return tensor(function, inner);
    }
    throw refused("has a tensor of another class, expected dense tensors");
  }

  private Map<String, Object> ordered(List<?> arguments) throws ArchiveException {
    if (!arguments.isEmpty()) {
      throw refused("has an OrderedDict of other objects, expected an empty one");
    }
    return new LinkedHashMap<>();
  }

  private Saved tensor(List<?> arguments) throws ArchiveException {
    if (arguments.size() >= 6
        && arguments.get(0) instanceof Storage storage
        && arguments.get(1) instanceof Long offset
        && arguments.get(2) instanceof List<?> shape
        && arguments.get(3) instanceof List<?> strides
        && arguments.get(4) instanceof Boolean trained) {
      try {
        return new Saved(
            TensorView.of(storage.type, numbers(shape), numbers(strides), offset, trained),
            storage.key,
            storage.length);
      } catch (ArchiveException e) {
        throw refused("has " + e.getMessage());
      }
    }
    throw refused("has a tensor whose description is not one");
  }

  private Saved parameter(List<?> arguments) throws ArchiveException {
    if (arguments.size() >= 2
        && arguments.get(0) instanceof Saved saved
        && arguments.get(1) instanceof Boolean trained) {
      TensorView view = saved.view;
      return new Saved(
          new TensorView(view.type(), view.shape(), view.strides(), view.offset(), trained),
          saved.storage,
          saved.storageLength);
    }
    throw refused("has a parameter that is no tensor");
  }

  private List<Long> numbers(List<?> values) throws ArchiveException {
    List<Long> numbers = new ArrayList<>();
    for (Object one : values) {
      if (!(one instanceof Long number)) {
        throw new ArchiveException("a tensor with %s as a dimension".formatted(kind(one)));
      }
      numbers.add(number);
    }
    return numbers;
  }

  @SuppressWarnings("unchecked")
  private void setItems(List<Object> items) throws ArchiveException {
    if (!(top() instanceof Map<?, ?> dictionary) || items.size() % 2 != 0) {
      throw refused("sets items of %s".formatted(kind(top())));
    }
    for (int i = 0; i < items.size(); i += 2) {
      if (!(items.get(i) instanceof String name)) {
        throw refused("has %s as a key, expected a name".formatted(kind(items.get(i))));
      }
      if (((Map<String, Object>) dictionary).put(name, items.get(i + 1)) != null) {
        throw refused("has two values under %s".formatted(JsonText.shown(name)));
      }
    }
  }

  @SuppressWarnings("unchecked")
  private void append(List<Object> values) throws ArchiveException {
    if (!(top() instanceof ArrayList<?> list)) {
      throw refused("appends to %s".formatted(kind(top())));
    }
    ((List<Object>) list).addAll(values);
  }

  /** Ignores the attributes of a dictionary: {@code _metadata} has versions of modules. */
  private void build() throws ArchiveException {
    pop();
    if (!(top() instanceof Map<?, ?>)) {
      throw refused("sets the state of %s".formatted(kind(top())));
    }
  }

  private static String kind(Object value) {
    if (value instanceof Global global) {
      return global.name;
    }
    if (value instanceof Long || value instanceof Double || value instanceof Boolean) {
      return value.toString();
    }
    if (value instanceof String) {
      return "text";
    }
    if (value instanceof List<?>) {
      return "a list";
    }
    if (value instanceof Map<?, ?>) {
      return "a dictionary";
    }
    return value instanceof Saved ? "a tensor" : value == NONE ? "None" : "no value";
  }

  private ArchiveException refused(String what) {
    return new ArchiveException("%s %s".formatted(file, what));
  }
}
