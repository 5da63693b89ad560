package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.StringReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.events.CollectionEndEvent;
import org.yaml.snakeyaml.events.CollectionStartEvent;
import org.yaml.snakeyaml.events.Event;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.reader.ReaderException;
import org.yaml.snakeyaml.representer.Representer;

/**
 * Reads settings written as YAML, as strictly as {@link JsonText} reads JSON. It refuses a key that
 * is given twice, an alias inside its own anchor, and types other than JSON's. It also refuses
 * aliases that multiply into more values than a settings file can have. Anchors, aliases and merge
 * keys ({@code <<}) work.
 */
final class YamlText {

  /** Most values of a file with all its aliases expanded; a mixing matrix of 1,000 workers fits. */
  private static final int MOST_VALUES = 1_100_000;

  /** Most characters of a number; the time to parse a number grows with their square. */
  private static final int MOST_DIGITS = 1_000;

  /** Most characters without white space; SnakeYAML's time grows with their square too. */
  private static final int MOST_IN_A_ROW = 1 << 16;

  private static final int SHOWN_CHARACTERS = 200;

  private final String origin;
  private final Scalars scalars = new Scalars();
  private final Set<Node> open = Collections.newSetFromMap(new IdentityHashMap<>());
  private int values;

  /** Converts a scalar as SnakeYAML does; only a subclass may call SnakeYAML's method for that. */
  private static final class Scalars extends SafeConstructor {

    Scalars() {
      super(new LoaderOptions());
    }

    Object value(ScalarNode node) {
      return constructObject(node);
    }
  }

  private YamlText(String origin) {
    this.origin = origin;
  }

  /**
   * Reads a text that holds one document, which is a mapping.
   *
   * @param origin the text's name in error messages
   * @param text the whole text
   * @throws SettingsException naming the line, what was found and what was expected
   */
  static JsonObject object(String origin, String text) {
    YamlText reader = new YamlText(origin);
    try {
      reader.requireShortWords(text);
      reader.requireShallow(text);
      Node root = parser().compose(new StringReader(text));
      if (root == null) {
        throw new SettingsException(
            origin + ": is empty, expected one object, key: value on each line");
      }
      if (reader.read(root, root.getStartMark(), "") instanceof JsonObject object) {
        return object;
      }
      throw new SettingsException(
          origin + ": expected one object, key: value on each line, found another value");
    } catch (MarkedYAMLException e) {
      Mark at = e.getProblemMark();
      throw new SettingsException(
          "%s: line %d, column %d: not valid YAML: %s"
              .formatted(
                  origin,
                  at == null ? 1 : at.getLine() + 1,
                  at == null ? 1 : at.getColumn() + 1,
                  firstLine(e.getProblem())),
          e);
    } catch (ReaderException e) {
      int end = text.offsetByCodePoints(0, Math.min(e.getPosition(), codePoints(text)));
      long line = 1 + text.substring(0, end).chars().filter(c -> c == '\n').count();
      throw new SettingsException(
          "%s: line %d: not valid YAML: found the character U+%04X, expected text"
              .formatted(origin, line, e.getCodePoint()),
          e);
    } catch (YAMLException e) {
      throw new SettingsException(
          "%s: not valid YAML: %s".formatted(origin, firstLine(e.getMessage())), e);
    }
  }

  private void requireShortWords(String text) {
    int line = 1;
    int begin = 0;
    for (int i = 0; i < text.length(); i++) {
      if (Character.isWhitespace(text.charAt(i))) {
        line += text.charAt(i) == '\n' ? 1 : 0;
        begin = i + 1;
      } else if (i - begin == MOST_IN_A_ROW) {
        throw new SettingsException(
            "%s: line %d: has more than %d characters without a space, expected fewer"
                .formatted(origin, line, MOST_IN_A_ROW));
      }
    }
  }

  /** SnakeYAML would also refuse nesting that is too deep, but without the position. */
  private void requireShallow(String text) {
    int depth = 0;
    for (Event event : parser().parse(new StringReader(text))) {
      if (event instanceof CollectionStartEvent) {
        depth++;
      } else if (event instanceof CollectionEndEvent) {
        depth--;
      }
      if (depth > JsonText.MOST_LEVELS) {
        throw refuse(
            event.getStartMark(),
            "",
            "is nested in more than %d levels, expected fewer".formatted(JsonText.MOST_LEVELS));
      }
    }
  }

  private static int codePoints(String text) {
    return text.codePointCount(0, text.length());
  }

  private static Yaml parser() {
    LoaderOptions options = new LoaderOptions();
    options.setNestingDepthLimit(JsonText.MOST_LEVELS);
    options.setCodePointLimit(JsonText.MOST_BYTES);
    // This class counts the values that aliases expand to.
    options.setMaxAliasesForCollections(Integer.MAX_VALUE);
    DumperOptions unused = new DumperOptions();
    return new Yaml(new SafeConstructor(options), new Representer(unused), unused, options);
  }

  /**
   * Reads a node with its aliases followed.
   *
   * @param place position of the node's key, because an alias has no position of its own
   */
  private Object read(Node node, Mark place, String path) {
    values++;
    if (values > MOST_VALUES) {
      throw refuse(
          place,
          path,
          "brings the file above %d values with its aliases followed, expected fewer"
              .formatted(MOST_VALUES));
    }
    if (node instanceof ScalarNode scalar) {
      return scalar(scalar, path);
    }
    if (!open.add(node)) {
      throw refuse(
          place, path, "is an alias of what it stands in, expected values that have an end");
    }
    if (open.size() > JsonText.MOST_LEVELS) {
      throw refuse(
          place,
          path,
          "is nested in more than %d levels, expected fewer".formatted(JsonText.MOST_LEVELS));
    }
    Object value =
        node instanceof MappingNode mapping
            ? object(mapping, path)
            : array((SequenceNode) node, path);
    open.remove(node);
    return value;
  }

  private JsonObject object(MappingNode mapping, String path) {
    requireTag(mapping, Tag.MAP, path);
    JsonObject object = new JsonObject();
    Map<String, Integer> lines = new HashMap<>();
    List<NodeTuple> merged = new ArrayList<>();
    for (NodeTuple entry : mapping.getValue()) {
      if (entry.getKeyNode().getTag().equals(Tag.MERGE)) {
        merged.add(entry);
        continue;
      }
      Mark at = entry.getKeyNode().getStartMark();
      String key = key(entry.getKeyNode(), path);
      String below = below(path, key);
      Integer first = lines.putIfAbsent(key, at.getLine() + 1);
      if (first != null) {
        throw refuse(
            at,
            below,
            "is given twice, first on line %d, expected each key once: remove one"
                .formatted(first));
      }
      object.put(key, read(entry.getValueNode(), at, below));
    }
    merged.forEach(entry -> merge(entry, object, path));
    return object;
  }

  /** Merges fields; a key that the object already has keeps its value. */
  private void merge(NodeTuple entry, JsonObject into, String path) {
    Mark at = entry.getKeyNode().getStartMark();
    Node value = entry.getValueNode();
    List<Node> sources = value instanceof SequenceNode many ? many.getValue() : List.of(value);
    for (Node source : sources) {
      if (!(read(source, at, path + "<<") instanceof JsonObject object)) {
        throw refuse(at, path + "<<", "merges another value, expected an object");
      }
      object.forEach(
          field -> {
            if (!into.containsKey(field.getKey())) {
              into.put(field.getKey(), field.getValue());
            }
          });
    }
  }

  private JsonArray array(SequenceNode sequence, String path) {
    requireTag(sequence, Tag.SEQ, path);
    JsonArray array = new JsonArray();
    for (Node element : sequence.getValue()) {
      array.add(read(element, sequence.getStartMark(), path + "[" + array.size() + "]"));
    }
    return array;
  }

  private static String below(String path, String key) {
    return path.isEmpty() ? key : path + "." + key;
  }

  private String key(Node node, String path) {
    if (node instanceof ScalarNode scalar) {
      return text(scalar.getValue(), node.getStartMark(), path);
    }
    throw refuse(node.getStartMark(), path, "has a key that is a list or an object, expected text");
  }

  private Object scalar(ScalarNode node, String path) {
    Tag tag = node.getTag();
    if (tag.equals(Tag.STR) || tag.equals(Tag.TIMESTAMP)) {
      return text(node.getValue(), node.getStartMark(), path);
    }
    if (!Set.of(Tag.NULL, Tag.BOOL, Tag.INT, Tag.FLOAT).contains(tag)) {
      throw refuseTag(node, path);
    }
    if (node.getValue().length() > MOST_DIGITS) {
      throw refuse(
          node.getStartMark(),
          path,
          "is a number of %d characters, expected at most %d"
              .formatted(node.getValue().length(), MOST_DIGITS));
    }
    if (node.isPlain() && node.getValue().indexOf(':') >= 0) {
      // YAML 1.1 reads 190:20:30 as a number in base 60, but its author means text.
      return node.getValue();
    }
    try {
      return scalars.value(node);
    } catch (MarkedYAMLException e) {
      throw e;
    } catch (RuntimeException notOfThatType) {
      throw refuse(
          node.getStartMark(),
          path,
          "is not of the type that its tag says, " + JsonText.shown(tag.toString()));
    }
  }

  private String text(String text, Mark at, String path) {
    OptionalInt unusable = JsonText.unusableCharacter(text);
    if (unusable.isPresent()) {
      throw refuse(
          at, path.isEmpty() ? "a key" : path, JsonText.unusable(text, unusable.getAsInt()));
    }
    return text;
  }

  private void requireTag(Node node, Tag expected, String path) {
    if (!node.getTag().equals(expected)) {
      throw refuseTag(node, path);
    }
  }

  private SettingsException refuseTag(Node node, String path) {
    return refuse(
        node.getStartMark(),
        path,
        "has the type %s, expected text, a number, true, false, null, a list or an object"
            .formatted(JsonText.shown(node.getTag().toString())));
  }

  private SettingsException refuse(Mark at, String path, String message) {
    return new SettingsException(
        "%s: line %d, column %d: %s %s"
            .formatted(
                origin,
                at.getLine() + 1,
                at.getColumn() + 1,
                path.isEmpty() ? "the whole" : JsonText.shown(path),
                message));
  }

  private static String firstLine(String text) {
    String line = text == null ? "no detail" : text.lines().findFirst().orElse("").strip();
    return line.length() > SHOWN_CHARACTERS ? line.substring(0, SHOWN_CHARACTERS) + "..." : line;
  }
}
