package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.JsonText;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.util.Map;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.Construct;
import org.yaml.snakeyaml.constructor.ConstructorException;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.Mark;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeId;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.Tag;
import org.yaml.snakeyaml.reader.ReaderException;
import org.yaml.snakeyaml.representer.Representer;
import org.yaml.snakeyaml.resolver.Resolver;

/**
 * Reads settings written as YAML with SnakeYAML. It refuses a key that is given twice, a value that
 * contains itself, and types other than JSON's. Anchors, aliases and merge keys ({@code <<}) work.
 */
final class YamlText {

  /** Bounds the time to read a file; SnakeYAML's grows with the square of the longest word. */
  private static final int MOST_CHARACTERS = 1 << 18;

  /** Aliases of objects and lists; aliases of aliases multiply the number of values. */
  private static final int MOST_ALIASES = 16;

  private YamlText() {}

  /**
   * Reads a text that holds one document, which is a mapping.
   *
   * @param origin the text's name in error messages
   * @param text the whole text
   * @throws SettingsException naming line and column, and what was found
   */
  static JsonObject object(String origin, String text) {
    if (text.length() > MOST_CHARACTERS) {
      throw new SettingsException(
          "%s: has %s characters, expected at most %s in YAML"
              .formatted(origin, text.length(), MOST_CHARACTERS));
    }
    try {
      Object value = parser().load(text);
      if (!(value instanceof Map)) {
        throw new SettingsException(
            "%s: %s, expected one object, key: value on each line"
                .formatted(origin, value == null ? "is empty" : "found another value"));
      }
      @SuppressWarnings("unchecked") // JsonValues refuses other keys.
      Map<String, Object> map = (Map<String, Object>) value;
      // Without the copy, two aliases would be one object, which its readers may change.
      return new JsonObject(map).copy();
    } catch (MarkedYAMLException e) {
      Mark at = e.getProblemMark();
      String place = "line %s, column %s: ".formatted(at.getLine() + 1, at.getColumn() + 1);
      throw refused(origin, place, e.getProblem(), e);
    } catch (ReaderException e) {
      long line = 1 + text.codePoints().limit(e.getPosition()).filter(c -> c == '\n').count();
      String found = "found the character U+%04X".formatted(e.getCodePoint());
      throw refused(origin, "line " + line + ": ", found, e);
    } catch (YAMLException e) {
      throw refused(origin, "the file is ", e.getMessage(), e);
    }
  }

  private static SettingsException refused(
      String origin, String place, String problem, YAMLException cause) {
    return new SettingsException(
        "%s: %snot valid YAML: %s".formatted(origin, place, JsonText.shown(problem)), cause);
  }

  private static Yaml parser() {
    LoaderOptions options = new LoaderOptions();
    options.setAllowDuplicateKeys(false);
    options.setNestingDepthLimit(JsonText.MOST_LEVELS);
    options.setMaxAliasesForCollections(MOST_ALIASES);
    DumperOptions unused = new DumperOptions();
    JsonScalars scalars = new JsonScalars();
    return new Yaml(
        new JsonValues(options, scalars), new Representer(unused), unused, options, scalars);
  }

  /** Finds the type of a scalar without a tag. Dates are text, and so are numbers in base 60. */
  private static final class JsonScalars extends Resolver {

    @Override
    public Tag resolve(NodeId kind, String value, boolean plain) {
      Tag tag = super.resolve(kind, value, plain);
      boolean base60 = (tag.equals(Tag.INT) || tag.equals(Tag.FLOAT)) && value.indexOf(':') >= 0;
      return base60 || tag.equals(Tag.TIMESTAMP) ? Tag.STR : tag;
    }
  }

  /** Refuses what JSON does not have: other types, cycles, and keys that are not text. */
  private static final class JsonValues extends SafeConstructor {

    private final Resolver scalars;

    JsonValues(LoaderOptions options, Resolver scalars) {
      super(options);
      this.scalars = scalars;
    }

    @Override
    protected Construct getConstructor(Node node) {
      if (node.isTwoStepsConstruction()) {
        throw new Refusal(node, "found a value that contains itself");
      }
      String value = node instanceof ScalarNode scalar ? scalar.getValue() : null;
      boolean isText = value != null && node.getTag().equals(Tag.STR);
      if (!isText && !node.getTag().equals(scalars.resolve(node.getNodeId(), value, true))) {
        throw new Refusal(node, "found the tag %s, which does not fit".formatted(node.getTag()));
      }
      if (node instanceof MappingNode mapping) {
        flattenMapping(mapping);
        for (NodeTuple entry : mapping.getValue()) {
          if (!entry.getKeyNode().getTag().equals(Tag.STR)) {
            throw new Refusal(entry.getKeyNode(), "found a key that is not text; put it in quotes");
          }
        }
      }
      return super.getConstructor(node);
    }
  }

  private static final class Refusal extends ConstructorException {

    private static final long serialVersionUID = 1;

    Refusal(Node node, String problem) {
      super(null, null, problem, node.getStartMark());
    }
  }
}
