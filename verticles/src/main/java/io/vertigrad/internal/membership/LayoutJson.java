package io.vertigrad.internal.membership;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertx.core.json.JsonArray;
import java.util.List;
import java.util.Locale;

/** A parameter layout as a JSON array of {@code [name, [dimension...], kind]}. */
final class LayoutJson {

  private LayoutJson() {}

  static JsonArray write(ParameterLayout layout) {
    JsonArray json = new JsonArray();
    for (Block block : layout.blocks()) {
      json.add(
          new JsonArray()
              .add(block.name())
              .add(new JsonArray(block.shape()))
              .add(block.kind().name().toLowerCase(Locale.ROOT)));
    }
    return json;
  }

  static ParameterLayout read(JsonArray json) {
    return new ParameterLayout(
        json.stream().map(JsonArray.class::cast).map(LayoutJson::block).toList());
  }

  private static Block block(JsonArray json) {
    List<Integer> shape =
        json.getJsonArray(1).stream().map(dimension -> ((Number) dimension).intValue()).toList();
    Block.Kind kind = Block.Kind.valueOf(json.getString(2).toUpperCase(Locale.ROOT));
    return new Block(json.getString(0), shape, kind);
  }
}
