package io.vertigrad.engine.pytorch;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The classes of a TorchScript file, as far as needed to find a module's buffers: the buffers that
 * each class declares, and the classes of its submodules.
 */
final class ScriptClasses {

  private static final int DEEPEST = 200;
  private static final int MOST_MODULES = 100_000;
  private static final Pattern CLASS = Pattern.compile("^class (\\w+)\\(Module\\):\\s*$");
  private static final Pattern BUFFERS = Pattern.compile("^  __buffers__ = \\[(.*)\\]\\s*$");
  private static final Pattern NAMED = Pattern.compile("^  (\\w+) : ([\\w.\\[\\]]+)\\s*$");
  private static final Pattern NUMBERED =
      Pattern.compile("^  __annotations__\\[\"([^\"]+)\"\\] = ([\\w.\\[\\]]+)\\s*$");
  private static final Pattern QUOTED = Pattern.compile("\"([^\"]+)\"");
  private static final Pattern IDENTIFIER = Pattern.compile("[A-Za-z_]\\w*");

  /**
   * One class.
   *
   * @param buffers names it declares as buffers
   * @param attributes types by name, in order
   */
  private record ScriptClass(List<String> buffers, Map<String, String> attributes) {}

  /** Number of submodules visited in the current search; a class may occur in many places. */
  private int modules;

  private final Map<String, ScriptClass> classes = new HashMap<>();

  private ScriptClasses() {}

  /**
   * Reads all code of a file.
   *
   * @param code texts by path, {@code code/__torch__/a/b.py}
   */
  static ScriptClasses of(Map<String, String> code) {
    ScriptClasses found = new ScriptClasses();
    code.forEach(
        (path, text) -> {
          String module = path.substring("code/".length(), path.length() - ".py".length());
          found.read(module.replace('/', '.'), text);
        });
    return found;
  }

  private void read(String module, String text) {
    ScriptClass current = null;
    for (String line : text.split("\n")) {
      Matcher opening = CLASS.matcher(line);
      if (opening.find()) {
        current = new ScriptClass(new ArrayList<>(), new LinkedHashMap<>());
        classes.put(module + "." + opening.group(1), current);
      } else if (!line.isEmpty() && line.charAt(0) != ' ') {
        current = null;
      } else if (current != null) {
        declaration(current, line);
      }
    }
  }

  private static void declaration(ScriptClass of, String line) {
    Matcher buffers = BUFFERS.matcher(line);
    if (buffers.find()) {
      QUOTED.matcher(buffers.group(1)).results().forEach(name -> of.buffers().add(name.group(1)));
      return;
    }
    for (Pattern form : List.of(NAMED, NUMBERED)) {
      Matcher attribute = form.matcher(line);
      if (attribute.find()) {
        of.attributes().put(attribute.group(1), attribute.group(2));
      }
    }
  }

  /** Returns the paths of all buffers that are tensors in a module of this class, depth first. */
  List<String> buffers(String top) {
    List<List<String>> paths = new ArrayList<>();
    modules = 0;
    collect(top, List.of(), paths);
    return paths.stream().map(path -> String.join(".", path)).toList();
  }

  private void collect(String name, List<String> path, List<List<String>> into) {
    ScriptClass found = classes.get(name);
    if (found == null) {
      return;
    }
    modules++;
    if (path.size() > DEEPEST || modules > MOST_MODULES) {
      throw new IllegalArgumentException(
          "its classes hold each other %s deep in %,d places, expected at most %d and %,d"
              .formatted(path.size(), modules, DEEPEST, MOST_MODULES));
    }
    for (String buffer : found.buffers()) {
      if ("Tensor".equals(found.attributes().get(buffer))) {
        into.add(plus(path, buffer));
      }
    }
    found
        .attributes()
        .forEach(
            (attribute, type) -> {
              if (classes.containsKey(type)) {
                collect(type, plus(path, attribute), into);
              }
            });
  }

  /**
   * Adds a method that returns all buffers to the code of a class.
   *
   * @param text of the file that holds the class
   * @param top the class, with its package
   * @return the text unchanged if the method exists
   */
  String withMethod(String text, String top, String method) {
    List<List<String>> paths = new ArrayList<>();
    modules = 0;
    collect(top, List.of(), paths);
    String name = top.substring(top.lastIndexOf('.') + 1);
    List<String> lines = new ArrayList<>(List.of(text.split("\n")));
    int at = lines.indexOf("class " + name + "(Module):") + 1;
    while (at < lines.size() && (lines.get(at).isEmpty() || lines.get(at).charAt(0) == ' ')) {
      if (lines.get(at).startsWith("  def " + method + "(")) {
        return text;
      }
      at++;
    }
    lines.add(at, "  def %s(self: %s) -> List[Tensor]:".formatted(method, top));
    lines.add(
        at + 1,
        "    return [%s]"
            .formatted(String.join(", ", paths.stream().map(ScriptClasses::expression).toList())));
    return String.join("\n", lines) + "\n";
  }

  /** Returns the expression that reads a path: {@code getattr(self.layers, "0").mean}. */
  private static String expression(List<String> path) {
    String reached = "self";
    for (String step : path) {
      reached =
          IDENTIFIER.matcher(step).matches()
              ? reached + "." + step
              : "getattr(%s, \"%s\")".formatted(reached, step);
    }
    return reached;
  }

  private static List<String> plus(List<String> path, String step) {
    List<String> longer = new ArrayList<>(path);
    longer.add(step);
    return longer;
  }
}
