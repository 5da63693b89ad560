package io.vertigrad.launcher;

import io.vertx.core.json.Json;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Damages job files, each in one or a few ways. Keys are removed, repeated, renamed, set to null or
 * given another type. Values are numbers out of range, deeply nested or have strange characters.
 * Text ends too early or has changed bytes; YAML gets aliases, tags and cycles.
 */
final class JobFileMutator {

  private static final List<String> STRANGE =
      List.of(
          "\\ud800",
          "\\udc00\\ud800",
          "\\u0000",
          "\\u0000/etc",
          "\\u202e",
          "\\n\\r\\t",
          "\\u001b[2J",
          "\u00e9\u4e2d\ud83d\ude00",
          "",
          " ",
          "..",
          "/",
          "a/b.zip",
          "%s %d %n",
          "${x}",
          "java.lang.String",
          "http://[",
          "1e5");

  private static final List<Object> NUMBERS =
      List.of(
          0,
          -1,
          1,
          Integer.MAX_VALUE,
          Integer.MIN_VALUE,
          Long.MAX_VALUE,
          Long.MIN_VALUE,
          BigInteger.TWO.pow(200),
          BigInteger.TWO.pow(200).negate(),
          BigInteger.TWO.pow(63),
          1e300,
          -1e300,
          1e-300,
          0.5,
          -0.0);

  private final Random random;

  JobFileMutator(long seed) {
    random = new Random(seed);
  }

  /** Returns a damaged copy as JSON. */
  String json(JsonObject job) {
    JsonObject damaged = job.copy();
    String text = null;
    for (int i = 1 + random.nextInt(3); i > 0; i--) {
      text = damage(damaged);
    }
    String written = text == null ? damaged.encodePrettily() : text;
    return random.nextInt(6) == 0 ? cut(written) : written;
  }

  /** Returns a damaged copy as YAML. */
  String yaml(String job) {
    List<String> lines = new ArrayList<>(job.lines().toList());
    int at = random.nextInt(lines.size());
    String line = lines.get(at);
    int colon = line.indexOf(':');
    String key = colon < 0 ? line : line.substring(0, colon);
    switch (random.nextInt(14)) {
      case 0 -> lines.add(at, line);
      case 1 -> lines.set(at, key + ": &x [*x]");
      case 2 -> lines.set(at, key + ": &x {a: *x}");
      case 3 -> lines.set(at, key + ": *nothing");
      case 4 -> lines.set(at, key + ": !!java.net.URL [\"http://localhost\"]");
      case 5 -> lines.set(at, key + ": !!binary aGFsbG8=");
      case 6 -> lines.set(at, key + ": !!int many");
      case 7 -> lines.set(at, key + ": 2001-12-14");
      case 8 -> lines.set(at, key + ": " + pick(List.of(".nan", ".inf", "~", "0x10", "1:30", "?")));
      case 9 -> lines.set(at, key + ": " + "[".repeat(500) + "]".repeat(500));
      case 10 -> lines.set(at, key + ": \"" + pick(STRANGE) + "\"");
      case 11 -> lines.addAll(at, bomb());
      case 12 -> lines.set(at, "<<: {" + key.strip() + ": 1}");
      default -> lines.set(at, "\t" + line);
    }
    String text = String.join("\n", lines) + "\n";
    return random.nextInt(6) == 0 ? cut(text) : text;
  }

  private List<String> bomb() {
    List<String> lines = new ArrayList<>(List.of("b0: &b0 [1, 1]"));
    for (int i = 1; i < 30; i++) {
      lines.add("b%d: &b%d [*b%d, *b%d]".formatted(i, i, i - 1, i - 1));
    }
    return lines;
  }

  /** Damages the object; returns text instead when an object cannot hold the damage, else null. */
  private String damage(JsonObject job) {
    List<Place> places = new ArrayList<>();
    collect(job, places);
    Place place = places.get(random.nextInt(places.size()));
    switch (random.nextInt(10)) {
      case 0 -> place.remove();
      case 1, 2 -> place.put(null);
      case 3 -> place.put(pick(NUMBERS));
      case 4 -> place.put(anotherType());
      case 5 -> place.put(nested(1 + random.nextInt(200)));
      case 6 -> {
        return written(job, place, "\"" + pick(STRANGE) + "\"");
      }
      case 7 -> {
        return written(job, place, pick(List.of("NaN", "1e999", "-", "01", "1".repeat(2_000))));
      }
      case 8 -> {
        return twice(job);
      }
      default -> place.rename(pick(STRANGE), random);
    }
    return null;
  }

  private static String written(JsonObject job, Place place, String literal) {
    String marker = "@@marker@@";
    place.put(marker);
    return job.encodePrettily().replace("\"" + marker + "\"", literal);
  }

  private String twice(JsonObject job) {
    List<String> lines = new ArrayList<>(job.encodePrettily().lines().toList());
    int at = random.nextInt(lines.size());
    lines.add(at, lines.get(at));
    return String.join("\n", lines);
  }

  private Object anotherType() {
    return pick(
        List.of(
            "text",
            true,
            false,
            7,
            new JsonObject(),
            new JsonArray(),
            new JsonArray().addNull(),
            new JsonArray().add(new JsonArray().addNull()),
            new JsonArray().add(new JsonArray().add(0).add(1_000_000_000)),
            new JsonArray().add(new JsonArray().add(0.5).add("x")),
            new JsonArray().add("x").add(1),
            new JsonObject().putNull("name"),
            new JsonObject().put("name", "step").putNull("milestones"),
            new JsonObject().put("mean", new JsonArray().addNull()).putNull("deviation")));
  }

  private static Object nested(int levels) {
    Object value = 1;
    for (int i = 0; i < levels; i++) {
      value = i % 2 == 0 ? new JsonArray().add(value) : new JsonObject().put("a", value);
    }
    return value;
  }

  private String cut(String text) {
    if (random.nextBoolean()) {
      return text.substring(0, random.nextInt(text.length()));
    }
    StringBuilder changed = new StringBuilder(text);
    changed.setCharAt(random.nextInt(text.length()), (char) random.nextInt(0xd7ff));
    return changed.toString();
  }

  private <T> T pick(List<T> of) {
    return of.get(random.nextInt(of.size()));
  }

  private static void collect(JsonObject object, List<Place> places) {
    for (String key : object.fieldNames()) {
      places.add(new Place(object, key));
      if (object.getValue(key) instanceof JsonObject nested) {
        collect(nested, places);
      }
    }
  }

  /** One key of one object. */
  private record Place(JsonObject object, String key) {

    void remove() {
      object.remove(key);
    }

    void put(Object value) {
      object.put(key, value);
    }

    /** Renames the key, with one more letter or strange characters at its end. */
    void rename(String strange, Random random) {
      Object value = object.remove(key);
      String text = Json.decodeValue("\"" + strange + "\"").toString();
      object.put(random.nextBoolean() ? key + "s" : key + text, value);
    }
  }
}
