package io.vertigrad.launcher;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A {@code timeline.json} as a viewer reads it: complete spans by member. */
record Trace(Map<String, List<Trace.Span>> members) {

  /** A span; its times are microseconds since 1970. */
  record Span(String name, long begun, long ended) {}

  static Trace read(Path file) throws IOException {
    List<JsonObject> events =
        new JsonArray(Files.readString(file)).stream().map(JsonObject.class::cast).toList();
    Map<Integer, String> names =
        events.stream()
            .filter(event -> event.getString("name").equals("process_name"))
            .collect(
                Collectors.toMap(
                    event -> event.getInteger("pid"),
                    event -> event.getJsonObject("args").getString("name")));
    return new Trace(
        events.stream()
            .filter(event -> event.getString("ph").equals("X"))
            .collect(
                Collectors.groupingBy(
                    event -> names.get(event.getInteger("pid")),
                    TreeMap::new,
                    Collectors.mapping(Trace::span, Collectors.toList()))));
  }

  /** Returns true when the spans of a member follow or contain each other. */
  boolean nests(String member) {
    List<Span> spans =
        members.get(member).stream()
            .sorted(
                Comparator.comparingLong(Span::begun)
                    .thenComparing(Comparator.comparingLong(Span::ended).reversed()))
            .toList();
    Deque<Span> open = new ArrayDeque<>();
    for (Span span : spans) {
      while (!open.isEmpty() && open.peek().ended() <= span.begun()) {
        open.pop();
      }
      if (!open.isEmpty() && span.ended() > open.peek().ended()) {
        return false;
      }
      open.push(span);
    }
    return true;
  }

  /** Returns the longest of a member's spans with this name, in seconds. */
  double longest(String member, String name) {
    return members.get(member).stream()
            .filter(span -> span.name().equals(name))
            .mapToLong(span -> span.ended() - span.begun())
            .max()
            .orElse(0)
        / 1e6;
  }

  long count(String member, String name) {
    return members.get(member).stream().filter(span -> span.name().equals(name)).count();
  }

  private static Span span(JsonObject event) {
    long begun = event.getLong("ts");
    return new Span(event.getString("name"), begun, begun + event.getLong("dur"));
  }
}
