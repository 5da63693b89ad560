package io.vertigrad.engine.pytorch;

import io.vertigrad.engine.pytorch.graph.ArchiveException;
import io.vertigrad.engine.pytorch.graph.CheckedZip;
import io.vertigrad.engine.pytorch.graph.ExportArchive;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A TorchScript file, checked in Java before native code reads it. It is a zip that holds the
 * module's attributes as a pickle ({@code data.pkl}), its code as text and its tensors as raw
 * bytes.
 *
 * <p>libtorch loads a file with damaged weights without an error, so every checksum is compared
 * here.
 */
final class ScriptArchive {

  private static final String KIND = "a TorchScript module";
  private static final String EXPORT =
      "export the module with torch.jit.script(module).save(\"model.pt\")";
  private static final String ATTRIBUTES = "data.pkl";
  private static final int MOST_CODE = 16 << 20;
  private static final int MOST_HEAD = 4096;

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
    return CheckedZip.open(file, KIND, EXPORT, ScriptArchive::read);
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

  private static ScriptArchive read(CheckedZip zip) throws IOException {
    if (ExportArchive.isProgram(zip)) {
      throw new ArchiveException(
          "is a program of torch.export, expected %s; give the file a name that ends in .pt2"
              .formatted(KIND));
    }
    String first = zip.names().isEmpty() ? "" : zip.names().get(0);
    String root = first.substring(0, first.indexOf('/') + 1);
    Map<String, String> code = new TreeMap<>();
    for (String name : zip.names()) {
      String within = name.startsWith(root) ? name.substring(root.length()) : name;
      if (within.startsWith("code/") && within.endsWith(".py")) {
        code.put(within, new String(zip.read(name, MOST_CODE), StandardCharsets.UTF_8));
      } else {
        zip.check(name, 0);
      }
    }
    if (!zip.has(root + ATTRIBUTES)) {
      throw new ArchiveException(
          "is a zip without %s, not %s; %s".formatted(ATTRIBUTES, KIND, EXPORT));
    }
    if (code.isEmpty()) {
      throw new ArchiveException(
          "holds values without code, such as a state_dict that torch.save wrote; " + EXPORT);
    }
    String head = new String(zip.check(root + ATTRIBUTES, MOST_HEAD), StandardCharsets.ISO_8859_1);
    if (!TOP.matcher(head).find()) {
      throw new ArchiveException("does not begin with the class of a module; " + EXPORT);
    }
    return new ScriptArchive(code);
  }
}
