package io.vertigrad.compute.formats;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.Model;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Reads and writes named arrays in a safetensors file. The file holds eight bytes with the length
 * of a JSON header, little-endian, then the header, then the arrays' values, little-endian, one
 * array after the other.
 *
 * <p>The header is checked when the file is opened, before any array is read: each array lies
 * within the file, has as many bytes as its shape and type need, and the arrays cover the data
 * without a gap or an overlap. Memory is allocated only for bytes that the file has. Every error is
 * a {@link DataException} that names the file, the byte or the array, what was found and what was
 * expected. Not thread-safe.
 */
public final class SafetensorsFile implements AutoCloseable {

  /** Largest size of a header in bytes. */
  static final int MOST_HEADER_BYTES = JsonText.MOST_BYTES;

  private static final String METADATA = "__metadata__";

  /** Text of the header with the names of the tensors beside a model's own arrays. */
  private static final String FURTHER = "vertigrad.further";

  private static final String TYPE = "dtype";
  private static final String SHAPE = "shape";
  private static final String OFFSETS = "data_offsets";
  private static final Set<String> FIELDS = Set.of(TYPE, SHAPE, OFFSETS);
  private static final int PREFIX_BYTES = 8;
  private static final int LEAST_HEADER_BYTES = 2;
  private static final int CHUNK_ELEMENTS = 1 << 16;

  /** Largest number of values that are returned as one array. */
  private static final int MOST_ELEMENTS = Integer.MAX_VALUE - CHUNK_ELEMENTS;

  /** The type of an array's values, with its size in bytes. */
  private enum Type {
    BOOL(1),
    U8(1),
    I8(1),
    F8_E5M2(1),
    F8_E4M3(1),
    I16(2),
    U16(2),
    F16(2),
    BF16(2),
    I32(4),
    U32(4),
    F32(4),
    F64(8),
    I64(8),
    U64(8);

    private final int bytes;

    Type(int bytes) {
      this.bytes = bytes;
    }

    /** Returns true for the types that {@link SafetensorsFile#read} can give as float32. */
    boolean isReadable() {
      return this == F32 || this == F16 || this == BF16 || this == F64 || this == I64;
    }

    /** Returns true for the types that {@link SafetensorsFile#wholes} can give. */
    boolean isWhole() {
      return this == BOOL
          || this == U8
          || this == I8
          || this == I16
          || this == U16
          || this == I32
          || this == U32
          || this == I64;
    }

    /** Returns value {@code index} of these bytes as it is. */
    long whole(ByteBuffer values, int index) {
      int at = index * bytes;
      return switch (this) {
        case BOOL, U8 -> Byte.toUnsignedLong(values.get(at));
        case I8 -> values.get(at);
        case I16 -> values.getShort(at);
        case U16 -> Short.toUnsignedLong(values.getShort(at));
        case I32 -> values.getInt(at);
        case U32 -> Integer.toUnsignedLong(values.getInt(at));
        case I64 -> values.getLong(at);
        default -> throw new IllegalStateException(this + " holds no whole numbers");
      };
    }

    /**
     * Returns value {@code index} of these bytes as float32, rounded if the type has more digits.
     */
    float value(ByteBuffer values, int index) {
      int at = index * bytes;
      return switch (this) {
        case F32 -> values.getFloat(at);
        case F64 -> (float) values.getDouble(at);
        case I64 -> values.getLong(at);
        case BF16 -> Float.intBitsToFloat(values.getShort(at) << 16);
        case F16 -> half(values.getShort(at));
        default -> throw new IllegalStateException(this + " cannot be read as float32");
      };
    }

    /** Decodes IEEE 754 binary16: one sign bit, five bits of exponent, ten bits of fraction. */
    private static float half(short bits) {
      int exponent = bits >> 10 & 0x1F;
      int fraction = bits & 0x3FF;
      float magnitude;
      if (exponent == 0) {
        magnitude = fraction * 0x1p-24f;
      } else if (exponent == 0x1F) {
        magnitude = fraction == 0 ? Float.POSITIVE_INFINITY : Float.NaN;
      } else {
        magnitude = Float.intBitsToFloat(exponent + 112 << 23 | fraction << 13);
      }
      return bits < 0 ? -magnitude : magnitude;
    }
  }

  /** One array; the offsets count bytes from the end of the header. */
  private record Entry(String name, Type type, List<Integer> shape, long begin, long end) {

    long elements() {
      return (end - begin) / type.bytes;
    }
  }

  /** Reads some values of an array. */
  private interface ChunkReader {

    /** Reads values {@code [first, first + count)} of the array, which these bytes hold. */
    void read(ByteBuffer bytes, int first, int count);
  }

  /** Provides the values when a file is written, such as {@code model::readParameters}. */
  @FunctionalInterface
  public interface Source {

    /**
     * Copies elements of the exchange vector out; fills the buffer.
     *
     * @param first element of the exchange vector
     * @param destination from its position to its limit
     */
    void read(int first, FloatBuffer destination);
  }

  /** Receives the values when a file is read, such as {@code model::writeParameters}. */
  @FunctionalInterface
  public interface Sink {

    /**
     * Copies elements of the exchange vector in; consumes the buffer.
     *
     * @param first element of the exchange vector
     * @param source from its position to its limit
     */
    void write(int first, FloatBuffer source);
  }

  private final Path file;
  private final FileChannel channel;
  private final long dataStart;
  private final Map<String, String> metadata = new LinkedHashMap<>();
  private final Map<String, Entry> entries = new LinkedHashMap<>();

  private SafetensorsFile(Path file, FileChannel channel) throws IOException {
    this.file = file;
    this.channel = channel;
    JsonObject header = header();
    this.dataStart = channel.position();
    long dataBytes = channel.size() - dataStart;
    for (String name : header.fieldNames()) {
      if (name.equals(METADATA)) {
        readMetadata(header.getValue(name));
      } else {
        entries.put(name, entry(name, header.getValue(name), dataBytes));
      }
    }
    requireCover(dataBytes);
  }

  /**
   * Opens a file and checks its header; the arrays are read later.
   *
   * @param file in the safetensors format
   * @return the file, which must be closed
   * @throws DataException when it cannot be read or is no such file
   */
  public static SafetensorsFile open(Path file) {
    try {
      FileChannel channel = FileChannel.open(file, StandardOpenOption.READ);
      try {
        return new SafetensorsFile(file, channel);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  /**
   * Writes a model's arrays as float32, each under the name of its block, and its further state.
   * Writes the whole file or none.
   *
   * @param file is replaced if it exists
   * @param metadata texts by name, which the header stores
   * @param layout names and shapes of the model's arrays
   * @param model used on the calling thread
   * @throws IOException when the file cannot be written
   */
  public static void write(
      Path file, Map<String, String> metadata, ParameterLayout layout, Model model)
      throws IOException {
    write(file, metadata, layout, model::readParameters, model.furtherState());
  }

  /**
   * Writes arrays as float32, each under the name of its block. Writes the whole file or none.
   *
   * @param file is replaced if it exists
   * @param metadata texts by name, which the header stores
   * @param layout names and shapes
   * @param source provides the values
   * @param further tensors to write after them, as they are; {@link #require} ignores them
   * @throws IOException when the file cannot be written
   */
  public static void write(
      Path file,
      Map<String, String> metadata,
      ParameterLayout layout,
      Source source,
      List<Model.State> further)
      throws IOException {
    byte[] header = header(metadata, layout, further);
    Path part = file.resolveSibling(file.getFileName() + ".part");
    try {
      try (FileChannel channel =
          FileChannel.open(
              part,
              StandardOpenOption.CREATE,
              StandardOpenOption.TRUNCATE_EXISTING,
              StandardOpenOption.WRITE)) {
        writeFully(channel, littleEndian(PREFIX_BYTES).putLong(header.length).flip());
        writeFully(channel, ByteBuffer.wrap(header));
        ByteBuffer chunk = littleEndian(CHUNK_ELEMENTS * Float.BYTES);
        for (int first = 0; first < layout.length(); first += CHUNK_ELEMENTS) {
          int count = Math.min(CHUNK_ELEMENTS, layout.length() - first);
          source.read(first, chunk.clear().limit(count * Float.BYTES).asFloatBuffer());
          writeFully(channel, chunk);
        }
        for (Model.State tensor : further) {
          writeFully(channel, tensor.values().duplicate());
        }
      }
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      Files.deleteIfExists(part);
      throw e;
    }
  }

  /**
   * Returns the texts that the header stores besides the arrays.
   *
   * @return texts by name, in the file's order
   */
  public Map<String, String> metadata() {
    return Collections.unmodifiableMap(metadata);
  }

  /**
   * Returns the names of the arrays.
   *
   * @return the names in the header's order
   */
  public Set<String> names() {
    return Collections.unmodifiableSet(entries.keySet());
  }

  /**
   * Checks that the file holds exactly a model's arrays: the same names and shapes, in types that
   * can be read. Counters, which are of integers, and tensors that {@link #write} added are
   * ignored.
   *
   * @param layout of the model
   * @throws DataException naming the first array that does not fit
   */
  public void require(ParameterLayout layout) {
    for (Block block : layout.blocks()) {
      Entry found = entries.get(block.name());
      if (found == null) {
        throw wrong(
            "holds no tensor %s, expected one of shape %s; it holds %s"
                .formatted(block.name(), block.shape(), shortList()));
      }
      if (!found.shape().equals(block.shape())) {
        throw wrong(
            "tensor %s has the shape %s, expected %s: it is of another model"
                .formatted(block.name(), found.shape(), block.shape()));
      }
      requireReadable(found);
    }
    Set<String> known = new HashSet<>(further());
    layout.blocks().forEach(block -> known.add(block.name()));
    for (Entry entry : entries.values()) {
      if (!known.contains(entry.name()) && entry.type() != Type.I64) {
        throw wrong(
            "holds %s tensors, expected %s: the model has no %s"
                .formatted(entries.size(), layout.blocks().size(), JsonText.shown(entry.name())));
      }
    }
  }

  private List<String> further() {
    try {
      return new JsonArray(metadata.getOrDefault(FURTHER, "[]"))
          .stream().map(String::valueOf).toList();
    } catch (DecodeException e) {
      throw wrong("header: %s.%s is no list of names".formatted(METADATA, FURTHER));
    }
  }

  /**
   * Reads the arrays of these blocks, as float32 in exchange order.
   *
   * @param layout of a whole model or of a part of it; {@link #require} has accepted the whole
   * @param sink receives the values, in pieces of limited length
   * @throws DataException when the file has changed or cannot be read
   */
  public void read(ParameterLayout layout, Sink sink) {
    int first = 0;
    for (Block block : layout.blocks()) {
      read(block, entries.get(block.name()), first, sink);
      first += block.length();
    }
  }

  /**
   * Returns the dimensions of an array.
   *
   * @param name of the array
   * @return its shape; empty for a single number
   * @throws DataException when the file has no such array
   */
  public List<Integer> shape(String name) {
    return found(name).shape();
  }

  /**
   * Returns whether an array holds whole numbers or booleans, which {@link #wholes} returns.
   *
   * @param name of the array
   * @return false for floating-point numbers
   * @throws DataException when the file has no such array
   */
  public boolean isWhole(String name) {
    return found(name).type().isWhole();
  }

  /**
   * Reads an array as float32, rounded if its type has more digits.
   *
   * @param name of the array
   * @return its values, the last dimension fastest
   * @throws DataException when the file has no such array, or it has another type than F32, F16,
   *     BF16, F64 and I64
   */
  public float[] floats(String name) {
    Entry entry = found(name);
    requireReadable(entry);
    float[] values = new float[length(entry)];
    read(entry, values.length, 0, (at, source) -> source.get(values, at, source.remaining()));
    return values;
  }

  /**
   * Reads an array of whole numbers, without rounding.
   *
   * @param name of the array
   * @return its values, the last dimension fastest; 0 and 1 for booleans
   * @throws DataException when the file has no such array, or {@link #isWhole} is false
   */
  public long[] wholes(String name) {
    Entry entry = found(name);
    if (!entry.type().isWhole()) {
      throw wrong(
          "tensor %s is of type %s, expected whole numbers, such as I64"
              .formatted(JsonText.shown(name), entry.type()));
    }
    long[] values = new long[length(entry)];
    inChunks(
        entry,
        values.length,
        (bytes, first, count) -> {
          for (int i = 0; i < count; i++) {
            values[first + i] = entry.type().whole(bytes, i);
          }
        });
    return values;
  }

  private Entry found(String name) {
    Entry entry = entries.get(name);
    if (entry == null) {
      throw wrong("holds no tensor %s; it holds %s".formatted(name, shortList()));
    }
    return entry;
  }

  private void requireReadable(Entry entry) {
    if (!entry.type().isReadable()) {
      throw wrong(
          "tensor %s is of type %s, expected one of F32, F16, BF16, F64, I64"
              .formatted(JsonText.shown(entry.name()), entry.type()));
    }
  }

  private int length(Entry entry) {
    if (entry.elements() > MOST_ELEMENTS) {
      throw wrong(
          "tensor %s has %s values, expected at most %s"
              .formatted(JsonText.shown(entry.name()), entry.elements(), MOST_ELEMENTS));
    }
    return (int) entry.elements();
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  private void read(Block block, Entry entry, int first, Sink sink) {
    if (entry == null || entry.elements() != block.length() || !entry.type().isReadable()) {
      throw wrong("tensor %s does not fit %s".formatted(block.name(), block.shape()));
    }
    read(entry, block.length(), first, sink);
  }

  private void read(Entry entry, int length, int first, Sink sink) {
    FloatBuffer floats = FloatBuffer.allocate(Math.min(CHUNK_ELEMENTS, length));
    inChunks(
        entry,
        length,
        (bytes, at, count) -> {
          floats.clear();
          for (int i = 0; i < count; i++) {
            floats.put(entry.type().value(bytes, i));
          }
          sink.write(first + at, floats.flip());
        });
  }

  private void inChunks(Entry entry, int length, ChunkReader reader) {
    int width = entry.type().bytes;
    ByteBuffer bytes = littleEndian(Math.min(CHUNK_ELEMENTS, length) * width);
    for (int done = 0; done < length; done += CHUNK_ELEMENTS) {
      int count = Math.min(CHUNK_ELEMENTS, length - done);
      bytes.clear().limit(count * width);
      readFully(bytes, dataStart + entry.begin() + (long) done * width, entry.name());
      reader.read(bytes, done, count);
    }
  }

  private JsonObject header() throws IOException {
    long size = channel.size();
    if (size < PREFIX_BYTES + LEAST_HEADER_BYTES) {
      throw wrong(
          "has %s bytes, expected at least %s: it is no safetensors file, or truncated"
              .formatted(size, PREFIX_BYTES + LEAST_HEADER_BYTES));
    }
    ByteBuffer prefix = littleEndian(PREFIX_BYTES);
    readFully(prefix, 0, "the header's length");
    long length = prefix.getLong(0);
    long most = Math.min(MOST_HEADER_BYTES, size - PREFIX_BYTES);
    if (length < LEAST_HEADER_BYTES || length > most) {
      throw wrong(
          "byte 0: the header has %s bytes, expected %s to %s: it is no safetensors file, or truncated"
              .formatted(Long.toUnsignedString(length), LEAST_HEADER_BYTES, most));
    }
    ByteBuffer bytes = ByteBuffer.allocate((int) length);
    readFully(bytes, PREFIX_BYTES, "the header");
    if (bytes.get(0) != '{') {
      throw wrong(
          "byte %s: the header begins with 0x%02x, expected an object, '{'"
              .formatted(PREFIX_BYTES, bytes.get(0)));
    }
    channel.position(PREFIX_BYTES + length);
    try {
      String origin = file + ": header";
      return JsonText.object(origin, JsonText.decode(origin, bytes.array()));
    } catch (SettingsException e) {
      throw new DataException(e.getMessage(), e);
    }
  }

  private void readMetadata(Object found) {
    if (!(found instanceof JsonObject texts)) {
      throw wrong("header: %s is no object of texts".formatted(METADATA));
    }
    for (String name : texts.fieldNames()) {
      if (!(texts.getValue(name) instanceof String text)) {
        throw wrong(
            "header: %s.%s is no text, expected a text".formatted(METADATA, JsonText.shown(name)));
      }
      metadata.put(name, text);
    }
  }

  private Entry entry(String name, Object found, long dataBytes) {
    String shown = JsonText.shown(name);
    if (!(found instanceof JsonObject fields) || !fields.fieldNames().equals(FIELDS)) {
      throw wrong(
          "header: tensor %s: found %s, expected an object of %s, %s and %s"
              .formatted(shown, fieldsOf(found), TYPE, SHAPE, OFFSETS));
    }
    Type type = type(shown, fields.getValue(TYPE));
    List<Integer> shape = new ArrayList<>();
    long bytes = type.bytes;
    for (Object size : list(shown, SHAPE, fields.getValue(SHAPE))) {
      long dimension = number(shown, SHAPE, size, Integer.MAX_VALUE);
      shape.add((int) dimension);
      bytes = product(shown, bytes, dimension);
    }
    List<Object> offsets = list(shown, OFFSETS, fields.getValue(OFFSETS));
    if (offsets.size() != 2) {
      throw wrong(
          "header: tensor %s: %s has %s numbers, expected 2"
              .formatted(shown, OFFSETS, offsets.size()));
    }
    long begin = number(shown, OFFSETS, offsets.get(0), dataBytes);
    long end = number(shown, OFFSETS, offsets.get(1), dataBytes);
    if (end - begin != bytes) {
      throw wrong(
          "header: tensor %s: %s %s has %s bytes, expected %s for %s of type %s"
              .formatted(shown, OFFSETS, offsets, end - begin, bytes, shape, type));
    }
    return new Entry(name, type, List.copyOf(shape), begin, end);
  }

  private Type type(String tensor, Object found) {
    for (Type type : Type.values()) {
      if (type.name().equals(found)) {
        return type;
      }
    }
    throw wrong(
        "header: tensor %s: %s is %s, expected one of %s"
            .formatted(
                tensor, TYPE, JsonText.shown(String.valueOf(found)), List.of(Type.values())));
  }

  private List<Object> list(String tensor, String field, Object found) {
    if (found instanceof JsonArray array) {
      return array.stream().toList();
    }
    throw wrong("header: tensor %s: %s is no list of numbers".formatted(tensor, field));
  }

  private long number(String tensor, String field, Object found, long most) {
    if (found instanceof Integer || found instanceof Long) {
      long number = ((Number) found).longValue();
      if (number >= 0 && number <= most) {
        return number;
      }
    }
    throw wrong(
        "header: tensor %s: %s holds %s, expected whole numbers from 0 to %s"
            .formatted(tensor, field, JsonText.shown(String.valueOf(found)), most));
  }

  /**
   * Multiplies a size by a dimension. A size beyond 2^63 is an error even if a later dimension is
   * 0.
   */
  private long product(String tensor, long bytes, long dimension) {
    try {
      return Math.multiplyExact(bytes, dimension);
    } catch (ArithmeticException e) {
      throw wrong("header: tensor %s: its %s needs more than 2^63 bytes".formatted(tensor, SHAPE));
    }
  }

  private void requireCover(long dataBytes) {
    List<Entry> ordered = new ArrayList<>(entries.values());
    ordered.sort(Comparator.comparingLong(Entry::begin).thenComparingLong(Entry::end));
    long covered = 0;
    String before = "the header";
    for (Entry entry : ordered) {
      if (entry.begin() != covered) {
        throw wrong(
            "header: tensor %s begins at byte %s of the data, expected %s, where %s ends: %s"
                .formatted(
                    JsonText.shown(entry.name()),
                    entry.begin(),
                    covered,
                    before,
                    entry.begin() < covered ? "they overlap" : "there is a gap between them"));
      }
      covered = entry.end();
      before = JsonText.shown(entry.name());
    }
    if (covered != dataBytes) {
      throw wrong(
          "has %s bytes of data, expected %s, where %s ends".formatted(dataBytes, covered, before));
    }
  }

  private void readFully(ByteBuffer bytes, long from, String what) {
    try {
      long at = from;
      while (bytes.hasRemaining()) {
        int count = channel.read(bytes, at);
        if (count < 0) {
          throw new EOFException("it ends at byte %s, within %s".formatted(at, what));
        }
        at += count;
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  private String shortList() {
    List<String> names = entries.keySet().stream().limit(6).map(JsonText::shown).toList();
    return entries.isEmpty()
        ? "none"
        : String.join(", ", names) + (entries.size() > names.size() ? ", ..." : "");
  }

  private DataException wrong(String what) {
    return new DataException(file + ": " + what);
  }

  private static String fieldsOf(Object found) {
    return found instanceof JsonObject object
        ? JsonText.shown(String.join(", ", object.fieldNames()))
        : "no object";
  }

  private static DataException unreadable(Path file, IOException cause) {
    return new DataException(
        "%s: cannot be read: %s; expected a safetensors file".formatted(file, cause), cause);
  }

  /** Builds the header. It is padded with spaces, so that the values after it are aligned. */
  private static byte[] header(
      Map<String, String> metadata, ParameterLayout layout, List<Model.State> further) {
    JsonObject header = new JsonObject(new LinkedHashMap<>());
    JsonObject texts = new JsonObject(new LinkedHashMap<>());
    new TreeMap<>(metadata).forEach(texts::put);
    if (!further.isEmpty()) {
      texts.put(FURTHER, new JsonArray(further.stream().map(Model.State::name).toList()).encode());
    }
    if (!texts.isEmpty()) {
      header.put(METADATA, texts);
    }
    long at = 0;
    for (Block block : layout.blocks()) {
      long bytes = (long) block.length() * Float.BYTES;
      put(header, block.name(), Type.F32, block.shape(), at, bytes);
      at += bytes;
    }
    for (Model.State tensor : further) {
      int bytes = tensor.values().remaining();
      put(header, tensor.name(), Type.valueOf(tensor.type()), tensor.shape(), at, bytes);
      at += bytes;
    }
    StringBuilder text = new StringBuilder(header.encode());
    int length = text.toString().getBytes(StandardCharsets.UTF_8).length;
    text.append(" ".repeat(-length & (PREFIX_BYTES - 1)));
    return text.toString().getBytes(StandardCharsets.UTF_8);
  }

  private static void put(
      JsonObject header, String name, Type type, List<Integer> shape, long at, long bytes) {
    if (header.containsKey(name)) {
      throw new IllegalArgumentException(
          "two arrays of the model are called %s, expected different names".formatted(name));
    }
    header.put(
        name,
        new JsonObject(new LinkedHashMap<>())
            .put(TYPE, type.name())
            .put(SHAPE, new JsonArray(new ArrayList<>(shape)))
            .put(OFFSETS, new JsonArray().add(at).add(at + bytes)));
  }

  private static ByteBuffer littleEndian(int bytes) {
    return ByteBuffer.allocate(bytes).order(ByteOrder.LITTLE_ENDIAN);
  }

  private static void writeFully(FileChannel channel, ByteBuffer bytes) throws IOException {
    while (bytes.hasRemaining()) {
      channel.write(bytes);
    }
  }
}
