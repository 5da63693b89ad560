package io.vertigrad.engine.pytorch;

import io.vertigrad.compute.Block.Kind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Writes a network as a TorchScript file without PyTorch: the module's attributes as a pickle of
 * protocol 2, its class as text, and each array's bytes.
 */
final class ScriptWriter {

  /** The class name of every module that is written here. */
  static final String CLASS = "Network";

  private static final String ROOT = "network/";
  private static final String FORMAT = "3\n";

  /** An empty tuple. */
  private static final byte[] NO_CONSTANTS = {(byte) 0x80, 2, ')', '.'};

  private final String code;
  private final List<Network.Array> arrays;
  private final ByteArrayOutputStream pickle = new ByteArrayOutputStream();

  private ScriptWriter(String code, List<Network.Array> arrays) {
    this.code = code;
    this.arrays = arrays;
  }

  /**
   * Writes the network with its initial values.
   *
   * @param file is replaced if it exists
   */
  static void write(Network network, Path file) throws IOException {
    new ScriptWriter(network.code(CLASS), network.arrays()).write(file);
  }

  private void write(Path file) throws IOException {
    try (OutputStream out = Files.newOutputStream(file);
        ZipOutputStream zip = new ZipOutputStream(out)) {
      for (int i = 0; i < arrays.size(); i++) {
        entry(zip, "data/" + i, bytes(arrays.get(i).values()));
      }
      entry(zip, "data.pkl", attributes());
      entry(zip, "code/__torch__.py", code.getBytes(StandardCharsets.UTF_8));
      entry(zip, "constants.pkl", NO_CONSTANTS);
      entry(zip, "version", FORMAT.getBytes(StandardCharsets.UTF_8));
    }
  }

  private static byte[] bytes(float[] values) {
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.multiplyExact(values.length, Float.BYTES))
            .order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  private static void entry(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    ZipEntry entry = new ZipEntry(ROOT + name);
    entry.setMethod(ZipEntry.STORED);
    entry.setSize(bytes.length);
    entry.setCrc(crc.getValue());
    // A fixed time makes the file of a network the same whenever it is written.
    entry.setTime(0);
    zip.putNextEntry(entry);
    zip.write(bytes);
    zip.closeEntry();
  }

  /** Returns the pickle of an object of the class, built from a dictionary of its attributes. */
  private byte[] attributes() {
    put(0x80, 2);
    global("__torch__", CLASS);
    put(')', 0x81, '}', '(');
    for (int i = 0; i < arrays.size(); i++) {
      text(arrays.get(i).attribute());
      tensor(i, arrays.get(i));
    }
    text("training");
    put(0x88);
    put('u', 'b', '.');
    return pickle.toByteArray();
  }

  /** Writes {@code _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)}. */
  private void tensor(int key, Network.Array array) {
    global("torch._utils", "_rebuild_tensor_v2");
    put('(');
    put('(');
    text("storage");
    global("torch", "FloatStorage");
    text(Integer.toString(key));
    text("cpu");
    number(array.values().length);
    put('t', 'Q');
    number(0);
    List<Integer> shape = array.block().shape();
    put('(');
    shape.forEach(this::number);
    put('t', '(');
    for (int i = 0; i < shape.size(); i++) {
      number(shape.subList(i + 1, shape.size()).stream().reduce(1, Math::multiplyExact));
    }
    put('t');
    put(array.block().kind() == Kind.TRAINABLE ? 0x88 : 0x89);
    global("collections", "OrderedDict");
    put(')', 'R', 't', 'R');
  }

  private void global(String module, String name) {
    pickle.writeBytes(("c" + module + "\n" + name + "\n").getBytes(StandardCharsets.UTF_8));
  }

  private void text(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    put('X');
    int32(bytes.length);
    pickle.writeBytes(bytes);
  }

  private void number(int value) {
    put('J');
    int32(value);
  }

  private void int32(int value) {
    put(value, value >>> 8, value >>> 16, value >>> 24);
  }

  private void put(int... bytes) {
    for (int one : bytes) {
      pickle.write(one);
    }
  }
}
