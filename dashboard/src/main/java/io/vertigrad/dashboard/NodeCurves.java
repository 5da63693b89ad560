package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertx.core.json.JsonObject;
import java.util.LinkedHashMap;
import java.util.Map;

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

  private static final class Node {

    private final Curve curve =
        new Curve("cores", "heapBytes", "offHeapBytes", "residentBytes", "busyGpus", "gpuBytes");
    private long lastMillis;
  }

  void add(MemberVitals vitals) {
    Node node = nodes.get(vitals.node());
    if (node == null && nodes.size() < NODES) {
      node = new Node();
      nodes.put(vitals.node(), node);
    }
    if (node == null || vitals.timeMillis() - node.lastMillis < SHORTEST_MILLIS) {
      return;
    }
    node.lastMillis = vitals.timeMillis();
    double[] point = {
      vitals.cores(),
      vitals.heapBytes(),
      vitals.offHeapBytes(),
      vitals.residentBytes(),
      vitals.busyGpus(),
      vitals.gpuBytes()
    };
    int segment = node.curve.add(vitals.timeMillis(), point);
    if (segment >= 0) {
      fresh.put(vitals.node(), node.curve.point(segment, vitals.timeMillis(), point));
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
