package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertx.core.json.JsonObject;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

/**
 * The history of each node of a run: the processors and GPUs that it keeps busy, and its memory.
 * Members of one process report the same values, so a node gets one point per {@value
 * #SHORTEST_MILLIS} ms.
 */
final class NodeCurves {

  private static final int NODES = 64;

  /** Members report about once a second. */
  private static final long SHORTEST_MILLIS = 900;

  private final Map<String, Node> nodes = new LinkedHashMap<>();
  private JsonObject fresh = new JsonObject();

  /** What does not change, or differs between the members of a node. */
  private static final Set<Vital> WITHOUT_CURVE =
      EnumSet.of(Vital.PROCESSORS, Vital.HEAP_LIMIT, Vital.ROUND_TRIP_MEDIAN, Vital.ROUND_TRIP_99);

  private static final List<Vital> COLUMNS =
      Stream.of(Vital.values()).filter(vital -> !WITHOUT_CURVE.contains(vital)).toList();

  private static final class Node {

    private final Curve curve =
        new Curve(COLUMNS.stream().map(Vital::toString).toArray(String[]::new));
    private long lastMillis;
  }

  void add(MemberVitals report) {
    Node node = nodes.get(report.node());
    if (node == null && nodes.size() < NODES) {
      node = new Node();
      nodes.put(report.node(), node);
    }
    if (node == null || report.timeMillis() - node.lastMillis < SHORTEST_MILLIS) {
      return;
    }
    node.lastMillis = report.timeMillis();
    double[] point = COLUMNS.stream().mapToDouble(report.vitals()::value).toArray();
    int segment = node.curve.add(report.timeMillis(), point);
    if (segment >= 0) {
      fresh.put(report.node(), node.curve.point(segment, report.timeMillis(), point));
    }
  }

  /** Returns the newest point of each node that has one since the last call. */
  JsonObject takeFresh() {
    JsonObject taken = fresh;
    fresh = new JsonObject();
    return taken;
  }

  /** Returns the columns of each node, by its name. */
  JsonObject toJson() {
    JsonObject json = new JsonObject();
    nodes.forEach((name, node) -> json.put(name, node.curve.toJson()));
    return json;
  }
}
