package io.vertigrad.engine.keras;

import io.vertigrad.compute.settings.JsonText;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.List;

/**
 * One layer as Keras describes it. Every value that is read is checked, and errors name the layer.
 *
 * @param file that holds the layer
 * @param kind its class in Keras, such as {@code Conv2D}
 * @param name its name in the model
 * @param config its settings
 * @param inputs names of the layers whose outputs it reads
 */
record KerasLayer(
    KerasFile file, String kind, String name, JsonObject config, List<String> inputs) {

  private static final String LAST = "channels_last";
  private static final String FIRST = "channels_first";

  static KerasLayer of(KerasFile file, JsonObject json, String before) {
    String kind = text(file, json, "class_name");
    if (!(json.getValue("config") instanceof JsonObject config)) {
      throw file.refused("a layer %s has no config".formatted(JsonText.shown(kind)));
    }
    String name = text(file, config, "name");
    KerasLayer layer = new KerasLayer(file, kind, name, config, List.of());
    List<String> inputs =
        json.getValue("inbound_nodes") instanceof JsonArray nodes
            ? layer.inbound(nodes)
            : before == null ? List.of() : List.of(before);
    return new KerasLayer(file, kind, name, config, inputs);
  }

  private static String text(KerasFile file, JsonObject json, String key) {
    if (json.getValue(key) instanceof String text) {
      return text;
    }
    throw file.refused(
        "a layer has no %s, expected layers as Keras 2 describes them".formatted(key));
  }

  /** Reads one use of the layer: {@code [[["before", 0, 0, {}], ...]]}. */
  private List<String> inbound(JsonArray nodes) {
    if (nodes.isEmpty()) {
      return List.of();
    }
    if (nodes.size() > 1) {
      throw refused("is used %s times, expected once".formatted(nodes.size()));
    }
    List<String> names = new ArrayList<>();
    if (nodes.getValue(0) instanceof JsonArray reads) {
      for (Object read : reads) {
        if (read instanceof JsonArray place
            && place.size() >= 3
            && place.getValue(0) instanceof String from
            && Integer.valueOf(0).equals(place.getValue(1))
            && Integer.valueOf(0).equals(place.getValue(2))) {
          names.add(from);
        } else {
          throw refused("inbound_nodes holds %s, expected [\"name\", 0, 0, {}]".formatted(read));
        }
      }
    }
    if (names.isEmpty()) {
      throw refused("inbound_nodes is %s, expected [[[\"name\", 0, 0, {}]]]".formatted(nodes));
    }
    return names;
  }

  String text(String key, String otherwise) {
    Object value = config.getValue(key);
    if (value == null) {
      return otherwise;
    }
    if (value instanceof String text) {
      return text;
    }
    // Some Keras versions write an object with its module here, or a user's own function.
    throw refused(
        "%s is %s, expected a name".formatted(key, JsonText.shown(String.valueOf(value))));
  }

  String choice(String key, String otherwise, List<String> known) {
    String found = text(key, otherwise);
    if (!known.contains(found)) {
      throw refused(
          "%s is \"%s\", expected one of %s"
              .formatted(key, JsonText.shown(found), String.join(", ", known)));
    }
    return found;
  }

  boolean flag(String key, boolean otherwise) {
    Object value = config.getValue(key, otherwise);
    if (value instanceof Boolean flag) {
      return flag;
    }
    throw refused("%s is %s, expected true or false".formatted(key, value));
  }

  int integer(String key, int least, int most) {
    return whole(key, config.getValue(key), least, most);
  }

  double number(String key, double otherwise, double least, double most) {
    Object value = config.getValue(key, otherwise);
    if (value instanceof Number number
        && number.doubleValue() >= least
        && number.doubleValue() <= most) {
      return number.doubleValue();
    }
    throw refused("%s is %s, expected a number from %s to %s".formatted(key, value, least, most));
  }

  /** Returns height and width, from one number or two. */
  int[] pair(String key, int otherwise, int least, int most) {
    Object value = config.getValue(key);
    if (value == null) {
      return new int[] {otherwise, otherwise};
    }
    if (value instanceof JsonArray both && both.size() == 2) {
      return new int[] {
        whole(key, both.getValue(0), least, most), whole(key, both.getValue(1), least, most)
      };
    }
    int one = whole(key, value, least, most);
    return new int[] {one, one};
  }

  private int whole(String key, Object value, int least, int most) {
    if (value instanceof Integer number && number >= least && number <= most) {
      return number;
    }
    throw refused(
        "%s is %s, expected a whole number from %s to %s"
            .formatted(key, JsonText.shown(String.valueOf(value)), least, most));
  }

  /**
   * Returns true when images are {@code [channels, height, width]}; by default channels are last.
   */
  boolean channelsFirst() {
    return choice("data_format", LAST, List.of(LAST, FIRST)).equals(FIRST);
  }

  /** Returns an array of this layer and checks its shape. */
  float[] weight(String key, Integer... shape) {
    KerasFile.Values found = file.weights(name).get(key);
    if (found == null) {
      throw refused(
          "the file holds no %s of it, expected one of shape %s".formatted(key, List.of(shape)));
    }
    if (!found.shape().equals(List.of(shape))) {
      throw refused("%s is %s, expected %s".formatted(key, found.shape(), List.of(shape)));
    }
    return found.values();
  }

  IllegalArgumentException refused(String what) {
    return file.refused(
        "layer %s (%s): %s".formatted(JsonText.shown(name), JsonText.shown(kind), what));
  }
}
