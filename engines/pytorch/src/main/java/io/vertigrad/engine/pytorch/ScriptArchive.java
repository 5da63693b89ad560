package io.vertigrad.engine.pytorch;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;

/**
 * A TorchScript file, checked in Java before native code reads it. It is a zip that holds the
 * module's attributes as a pickle ({@code data.pkl}), its code as text and its tensors as raw
 * bytes.
 *
 * <p>libtorch loads a file with damaged weights without an error, so every checksum is compared
 * here.
 */
final class ScriptArchive {

  private static final String EXPORT =
      "export the module with torch.jit.script(module).save(\"model.pt\")";
  private static final int MOST_CODE = 16 << 20;
  private static final int MOST_HEAD = 4096;
  private static final int ZIP_MAGIC = 'P' | 'K' << 8;

  /** Protocol 2, then the class of the module: {@code c<package>\n<name>\n}. */
  private static final Pattern TOP =
      Pattern.compile("^\\x80\\x02c(__torch__[\\w.]*)\\n(\\w+)\\n", Pattern.DOTALL);

  private static final Pattern BAKED_NORM =
      Pattern.compile("torch\\.batch_norm\\((?:[^,()]+,\\s*){5}(True|False)\\s*,");
  private static final Pattern BAKED_DROPOUT =
      Pattern.compile("torch\\.\\w*dropout_?\\((?:[^,()]+,\\s*){2}(True|False)\\s*\\)");

  private final Map<String, String> code;

  private ScriptArchive(Map<String, String> code) {
    this.code = code;
  }

  /**
   * Reads a whole file and checks it.
   *
   * @throws IllegalArgumentException when it is missing, damaged, or no TorchScript module; the
   *     message says which, and what to do
   */
  static ScriptArchive open(Path file) {
    if (!Files.isRegularFile(file)) {
      throw refused(file, "no such file, expected a TorchScript module; " + EXPORT);
    }
    try {
      checkMagic(file);
      try (ZipFile zip = new ZipFile(file.toFile())) {
        return read(file, zip);
      }
    } catch (ZipException e) {
      throw refused(
          file, "is damaged or was cut short (%s): copy it again".formatted(e.getMessage()));
    } catch (IOException e) {
      throw refused(file, "cannot be read: " + e.getMessage());
    }
  }

  /**
   * Returns behaviour that the author may not expect, one sentence each; empty if there is none.
   */
  List<String> warnings() {
    List<String> found = new ArrayList<>();
    for (String text : code.values()) {
      Matcher norm = BAKED_NORM.matcher(text);
      if (norm.find()) {
        found.add(baked("batch norm", norm.group(1).equals("True")));
        break;
      }
    }
    for (String text : code.values()) {
      Matcher dropout = BAKED_DROPOUT.matcher(text);
      if (dropout.find()) {
        found.add(baked("dropout", dropout.group(1).equals("True")));
        break;
      }
    }
    return found;
  }

  private static String baked(String what, boolean training) {
    return "%s was traced in %s mode and stays in it, in training and in evaluation; export it with torch.jit.script"
        .formatted(what, training ? "training" : "evaluation");
  }

  private static void checkMagic(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] head = in.readNBytes(2);
      if (head.length == 0) {
        throw refused(file, "is empty, expected a TorchScript module; " + EXPORT);
      }
      if (head.length < 2 || (head[0] & 0xff | (head[1] & 0xff) << 8) != ZIP_MAGIC) {
        String what =
            (head[0] & 0xff) == 0x80 ? "is a pickle, not a TorchScript module" : "is no zip file";
        throw refused(file, what + "; " + EXPORT);
      }
    }
  }

  private static ScriptArchive read(Path file, ZipFile zip) throws IOException {
    String root = null;
    Map<String, String> code = new TreeMap<>();
    for (ZipEntry entry : Collections.list(zip.entries())) {
      String name = entry.getName();
      if (root == null) {
        root = name.substring(0, name.indexOf('/') + 1);
      }
      String within = name.startsWith(root) ? name.substring(root.length()) : name;
      if (within.startsWith("code/") && within.endsWith(".py")) {
        code.put(within, new String(checked(file, zip, entry, MOST_CODE), StandardCharsets.UTF_8));
      } else {
        checked(file, zip, entry, 0);
      }
    }
    ZipEntry attributes = root == null ? null : zip.getEntry(root + "data.pkl");
    if (attributes == null) {
      throw refused(file, "is a zip without data.pkl, not a TorchScript module; " + EXPORT);
    }
    if (code.isEmpty()) {
      throw refused(
          file, "holds values without code, such as a state_dict that torch.save wrote; " + EXPORT);
    }
    String head;
    try (InputStream in = zip.getInputStream(attributes)) {
      head = new String(in.readNBytes(MOST_HEAD), StandardCharsets.ISO_8859_1);
    }
    if (!TOP.matcher(head).find()) {
      throw refused(file, "does not begin with the class of a module; " + EXPORT);
    }
    return new ScriptArchive(code);
  }

  /**
   * Reads an entry to its end, compares its checksum, and returns its first bytes, at most {@code
   * kept}.
   */
  private static byte[] checked(Path file, ZipFile zip, ZipEntry entry, int kept)
      throws IOException {
    if (kept > 0 && entry.getSize() > kept) {
      throw refused(
          file,
          String.format(
              Locale.ROOT,
              "has %s of %,d bytes, expected at most %,d of code",
              entry.getName(),
              entry.getSize(),
              kept));
    }
    CRC32 crc = new CRC32();
    byte[] bytes = new byte[0];
    long length = 0;
    try (InputStream in = new CheckedInputStream(zip.getInputStream(entry), crc)) {
      if (kept > 0) {
        bytes = in.readNBytes(kept);
        length = bytes.length;
      } else {
        byte[] tile = new byte[1 << 16];
        // Never read more than the entry's declared size: a compressed entry may hold any number of
        // zeros.
        for (int some = in.read(tile);
            some > 0 && length <= entry.getSize();
            some = in.read(tile)) {
          length += some;
        }
      }
    }
    if (length != entry.getSize() || crc.getValue() != entry.getCrc()) {
      throw refused(
          file,
          "is damaged: %s has checksum %08x, expected %08x; copy it again"
              .formatted(entry.getName(), crc.getValue(), entry.getCrc()));
    }
    return bytes;
  }

  static IllegalArgumentException refused(Path file, String what) {
    return new IllegalArgumentException("model %s: %s".formatted(file, what));
  }
}
