package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * Reads a Python pickle that holds only dicts, lists, tuples, texts, whole numbers and NumPy arrays
 * of bytes, as CIFAR-10's Python version does.
 *
 * <p>A pickle is a program, and Python's own reader calls any function that it names. This reader
 * calls none: it knows a few names, which stand for values here, and refuses every other name and
 * every instruction that it does not need. The memory it uses is proportional to the size of the
 * file. It reads protocols 2 (as published, by Python 2) to 4; CPython's {@code Lib/pickletools.py}
 * describes the instructions. One reader reads one file, on one thread.
 */
final class PickleReader {

  private static final int MOST_VALUES = 2_000_000;
  private static final int LONGEST_NAME = 100;
  private static final String ADVICE =
      "use the files of cifar-10-python.tar.gz, or of the binary version";

  /** Python's None. */
  static final Object NONE =
      new Object() {
        @Override
        public String toString() {
          return "None";
        }
      };

  /** An immutable tuple of values. */
  record Tuple(List<Object> values) {}

  /**
   * Bytes of a string, not copied.
   *
   * @param array array that holds the bytes; not to be written to
   * @param offset index of the first byte in the array
   * @param length number of bytes
   */
  record Bytes(byte[] array, int offset, int length) {

    String text() {
      return new String(array, offset, length, StandardCharsets.ISO_8859_1);
    }
  }

  /** An array of unsigned bytes, row after row; empty until its state is read. */
  static final class ByteArray {

    private List<Long> shape = List.of(0L);
    private Bytes data = new Bytes(new byte[0], 0, 0);

    private ByteArray() {}

    /** Returns the array's dimensions. */
    List<Long> shape() {
      return shape;
    }

    /** Returns the bytes, as many as the product of the dimensions. */
    Bytes data() {
      return data;
    }
  }

  /** The only names that a file may use; none of them has the effect that it has in Python. */
  private enum Global {
    RECONSTRUCT,
    NDARRAY,
    DTYPE,
    ENCODE;

    private static final Map<String, Global> NAMES =
        Map.of(
            "numpy.core.multiarray _reconstruct", RECONSTRUCT,
            "numpy._core.multiarray _reconstruct", RECONSTRUCT,
            "numpy ndarray", NDARRAY,
            "numpy dtype", DTYPE,
            "_codecs encode", ENCODE);
  }

  /** The only element type that an array may have: an unsigned byte. */
  private enum ElementType {
    U1
  }

  private final Path path;
  private final ByteBuffer in;
  private final List<Object> stack = new ArrayList<>();
  private final Deque<Integer> marks = new ArrayDeque<>();
  private final Map<Long, Object> memo = new HashMap<>();
  private int instruction;
  private int values;
  private int encoded;

  private PickleReader(Path path, byte[] content) {
    this.path = path;
    this.in = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
  }

  /**
   * Returns the one value of a pickle: a {@code Map} by text, a {@code List}, a {@link Tuple}, a
   * {@code String}, {@link Bytes}, a {@code Long}, a {@code Boolean}, {@link #NONE} or a {@link
   * ByteArray}.
   *
   * @param path names the file in errors
   * @param content content of the file; the result refers to it, so it must not be written to
   * @throws DataException with the file, the offset, what was found and what was expected
   */
  static Object read(Path path, byte[] content) {
    return new PickleReader(path, content).read();
  }

  private Object read() {
    int start = unsignedByte();
    int protocol = start == 0x80 ? unsignedByte() : -1;
    if (protocol < 2 || protocol > 4) {
      throw wrong(
          start == 0x80 ? "pickle protocol " + protocol : "byte " + hex(start),
          "a pickle of protocol 2 to 4");
    }
    while (true) {
      instruction = in.position();
      int code = unsignedByte();
      if (code == '.') {
        return end();
      }
      execute(code);
    }
  }

  private Object end() {
    if (stack.size() != 1 || !marks.isEmpty() || in.hasRemaining()) {
      throw wrong(
          "the end with %s values and %s bytes behind it".formatted(stack.size(), in.remaining()),
          "one value and nothing behind it");
    }
    return stack.get(0);
  }

  private void execute(int code) {
    switch (code) {
      case 'K' -> push((long) unsignedByte());
      case 'M' -> push((long) Short.toUnsignedInt(take(Short.BYTES).getShort()));
      case 'J' -> push((long) take(Integer.BYTES).getInt());
      case 'N' -> push(NONE);
      case 0x88 -> push(true);
      case 0x89 -> push(false);
      case 'U', 'C' -> push(bytes(unsignedByte()));
      case 'T', 'B' -> push(bytes(unsignedInteger()));
      case 0x8e -> push(bytes(take(Long.BYTES).getLong()));
      case 0x8c -> push(unicode(unsignedByte()));
      case 'X' -> push(unicode(unsignedInteger()));
      case 0x8d -> push(unicode(take(Long.BYTES).getLong()));
      case '}' -> push(new LinkedHashMap<String, Object>());
      case ']' -> push(new ArrayList<>());
      case ')' -> push(new Tuple(List.of()));
      case 0x85, 0x86, 0x87 -> push(new Tuple(pop(code - 0x84)));
      case '(' -> marks.push(stack.size());
      case 't' -> push(new Tuple(popToMark()));
      case 'a' -> append(pop(1));
      case 'e' -> append(popToMark());
      case 's' -> put(pop(2));
      case 'u' -> put(popToMark());
      case 'q' -> remember(unsignedByte());
      case 'r' -> remember(unsignedInteger());
      case 0x94 -> remember(memo.size());
      case 'h' -> push(remembered(unsignedByte()));
      case 'j' -> push(remembered(unsignedInteger()));
      case 'c' -> push(global(line() + " " + line()));
      case 0x93 -> push(global(String.join(" ", texts(pop(2)))));
      case 'R' -> push(called(pop(2)));
      case 'b' -> build(pop(1).get(0), top());
      case 0x95 -> checkFrame(take(Long.BYTES).getLong());
      default ->
          throw wrong(
              "instruction " + hex(code), "one that a dict of texts, numbers and bytes needs");
    }
  }

  private void checkFrame(long length) {
    if (length < 0 || length > in.remaining()) {
      throw truncated(length, in.remaining());
    }
  }

  private void push(Object value) {
    count();
    stack.add(value);
  }

  private void remember(long index) {
    count();
    memo.put(index, top());
  }

  private Object remembered(long index) {
    Object found = memo.get(index);
    if (found == null) {
      throw wrong("memo " + index, "one that was stored before");
    }
    return found;
  }

  private void count() {
    if (++values > MOST_VALUES) {
      throw wrong(
          String.format(Locale.ROOT, "more than %,d values", MOST_VALUES), "at most so many");
    }
  }

  private Object top() {
    checkPresent(1);
    return stack.get(stack.size() - 1);
  }

  /**
   * Removes and returns the last {@code count} values, in order; they must come after the last
   * mark.
   */
  private List<Object> pop(int count) {
    checkPresent(count);
    return popFrom(stack.size() - count);
  }

  private void checkPresent(int count) {
    int present = stack.size() - (marks.isEmpty() ? 0 : marks.peek());
    if (present < count) {
      throw wrong(present + " values", "at least " + count);
    }
  }

  private List<Object> popToMark() {
    if (marks.isEmpty()) {
      throw wrong("no mark", "one before this instruction");
    }
    return popFrom(marks.pop());
  }

  private List<Object> popFrom(int from) {
    List<Object> tail = stack.subList(from, stack.size());
    List<Object> popped = new ArrayList<>(tail);
    tail.clear();
    return popped;
  }

  @SuppressWarnings("unchecked")
  private void append(List<Object> elements) {
    ((List<Object>) expect(List.class, top(), "a list")).addAll(elements);
  }

  @SuppressWarnings("unchecked")
  private void put(List<Object> keysAndValues) {
    if (keysAndValues.size() % 2 != 0) {
      throw wrong("a key without a value", "pairs of them");
    }
    Map<String, Object> map = expect(Map.class, top(), "a dict");
    for (int i = 0; i < keysAndValues.size(); i += 2) {
      map.put(text(keysAndValues.get(i)), keysAndValues.get(i + 1));
    }
  }

  private Global global(String name) {
    Global found = Global.NAMES.get(name);
    if (found == null) {
      throw wrong(
          "the name %s, which is not called".formatted(shown(name.replace(' ', '.'))),
          "numpy's ndarray, dtype and _reconstruct, or _codecs.encode");
    }
    return found;
  }

  /** Returns the value that the Python function would return. */
  private Object called(List<Object> functionAndArguments) {
    Object function = functionAndArguments.get(0);
    List<Object> arguments =
        expect(Tuple.class, functionAndArguments.get(1), "a tuple of arguments").values();
    if (function == Global.RECONSTRUCT
        && !arguments.isEmpty()
        && arguments.get(0) == Global.NDARRAY) {
      return new ByteArray();
    }
    if (function == Global.DTYPE && !arguments.isEmpty()) {
      return elementType(text(arguments.get(0)));
    }
    if (function == Global.ENCODE && arguments.size() == 2) {
      return latin1(arguments.get(0), text(arguments.get(1)));
    }
    throw wrong("a call of " + described(function), "an array, its type of element, or bytes");
  }

  private ElementType elementType(String name) {
    if (!name.equals("u1")) {
      throw wrong("an array of " + shown(name), "one of u1, unsigned bytes");
    }
    return ElementType.U1;
  }

  /** Converts a text to bytes, one per character: Python 3 writes bytes like this in protocol 2. */
  private Bytes latin1(Object text, String encoding) {
    String characters = expect(String.class, text, "a text");
    if (!encoding.equals("latin1")) {
      throw wrong("bytes in encoding " + shown(encoding), "latin1");
    }
    // A file can refer to the same text many times, so the total length of all bytes is limited to
    // that of the file.
    encoded += characters.length();
    if (encoded < 0 || encoded > in.capacity()) {
      throw wrong("more encoded bytes than the file has", "each text once");
    }
    byte[] bytes = new byte[characters.length()];
    for (int i = 0; i < bytes.length; i++) {
      char character = characters.charAt(i);
      if (character > 0xFF) {
        throw wrong("character " + hex(character) + " in bytes", "characters up to 0xff");
      }
      bytes[i] = (byte) character;
    }
    return new Bytes(bytes, 0, bytes.length);
  }

  /** Gives an array its shape and bytes; the state of an element type is ignored. */
  private void build(Object state, Object target) {
    List<Object> parts = expect(Tuple.class, state, "a tuple of state").values();
    if (target instanceof ElementType) {
      return;
    }
    ByteArray array = expect(ByteArray.class, target, "an array");
    if (parts.size() != 5) {
      throw wrong("%s parts of an array".formatted(parts.size()), "5, the last its bytes");
    }
    expect(ElementType.class, parts.get(2), "the array's type of element");
    if (!Boolean.FALSE.equals(parts.get(3))) {
      throw wrong("an array column after column", "one row after row");
    }
    List<Long> shape = shape(expect(Tuple.class, parts.get(1), "the array's shape"));
    Bytes data = expect(Bytes.class, parts.get(4), "the array's bytes");
    if (product(shape) != data.length()) {
      throw wrong(
          "%s bytes of an array %s".formatted(data.length(), shape), "as many as its shape says");
    }
    array.shape = shape;
    array.data = data;
  }

  private List<Long> shape(Tuple sides) {
    return sides.values().stream().map(side -> expect(Long.class, side, "a number")).toList();
  }

  /** Returns the number of elements, or -1 when no file could hold them. */
  private static long product(List<Long> shape) {
    long product = 1;
    for (long side : shape) {
      product *= side;
      if (side < 0 || side > Integer.MAX_VALUE || product > Integer.MAX_VALUE) {
        return -1;
      }
    }
    return product;
  }

  private List<String> texts(List<Object> found) {
    return found.stream().map(this::text).toList();
  }

  /** Returns a text, or short bytes as a text: Python 2 did not distinguish them. */
  private String text(Object found) {
    return found instanceof Bytes bytes && bytes.length() <= LONGEST_NAME
        ? bytes.text()
        : expect(String.class, found, "a text");
  }

  private <T> T expect(Class<T> type, Object found, String expected) {
    if (!type.isInstance(found)) {
      throw wrong(described(found), expected);
    }
    return type.cast(found);
  }

  private int unsignedByte() {
    return Byte.toUnsignedInt(take(Byte.BYTES).get());
  }

  private long unsignedInteger() {
    return Integer.toUnsignedLong(take(Integer.BYTES).getInt());
  }

  private Bytes bytes(long length) {
    int from = take(length).position();
    in.position(from + (int) length);
    return new Bytes(in.array(), from, (int) length);
  }

  private String unicode(long length) {
    Bytes bytes = bytes(length);
    return new String(bytes.array(), bytes.offset(), bytes.length(), StandardCharsets.UTF_8);
  }

  /** Returns a name up to the end of its line. */
  private String line() {
    int from = in.position();
    while (unsignedByte() != '\n') {
      if (in.position() - from > LONGEST_NAME) {
        throw wrong("a name of more than %s characters".formatted(LONGEST_NAME), "a shorter one");
      }
    }
    return new String(in.array(), from, in.position() - 1 - from, StandardCharsets.ISO_8859_1);
  }

  /** Returns the input after checking that this many bytes are left. */
  private ByteBuffer take(long length) {
    if (length < 0 || length > in.remaining()) {
      throw truncated(length, in.remaining());
    }
    return in;
  }

  private DataException truncated(long expected, int found) {
    return new DataException(
        "%s: truncated or damaged: %s bytes behind offset %s, expected %s; %s"
            .formatted(path, found, in.position(), Long.toUnsignedString(expected), ADVICE));
  }

  private DataException wrong(String found, String expected) {
    return new DataException(
        "%s: offset %s: found %s, expected %s; %s"
            .formatted(path, instruction, found, expected, ADVICE));
  }

  /** Returns the kind of a value for messages; for a dict, with its keys. */
  static String described(Object value) {
    if (value instanceof Map<?, ?> map) {
      return "a dict of " + shown(map.keySet().toString());
    }
    if (value instanceof List) {
      return "a list";
    }
    if (value instanceof String || value instanceof Bytes) {
      return "a text";
    }
    if (value instanceof ByteArray) {
      return "an array";
    }
    return value instanceof Tuple ? "a tuple" : value.toString();
  }

  private static String shown(String text) {
    String start = text.substring(0, Math.min(text.length(), LONGEST_NAME));
    return start.replaceAll("[^ -~]", "?");
  }

  private static String hex(int value) {
    return "0x%02x".formatted(value);
  }
}
