package io.vertigrad.launcher.tracking;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The last point of each curve that another program has got. A run that goes back to a checkpoint
 * repeats steps, after {@code resume} or after a loss; their points are not exported again, so that
 * no curve goes back.
 *
 * <p>A test may be repeated at the same step with another result, such as one on the whole test set
 * after one on a part of it; both are exported. Used by one thread at a time.
 */
final class ExportedCurves {

  private static final String REPEATABLE = "test/";

  private final Map<String, Last> curves = new TreeMap<>();

  /** The last point of a curve; the value is as precise as the other program keeps it. */
  private record Last(long step, float value) {}

  /** Records a point that an earlier coordinator of the run has exported. */
  void add(String curve, long step, float value) {
    Last known = curves.get(curve);
    if (known == null || known.step() <= step) {
      curves.put(curve, new Last(step, value));
    }
  }

  /** Returns the points that continue their curves, and records them as exported. */
  List<Metric> admit(List<Metric> metrics) {
    return metrics.stream().filter(this::continues).toList();
  }

  /** Returns the last points by curve, for {@link #addAll}. */
  JsonObject toJson() {
    JsonObject json = new JsonObject();
    curves.forEach(
        (curve, last) ->
            json.put(curve, JsonObject.of("step", last.step(), "value", last.value())));
    return json;
  }

  /** Records the points that {@link #toJson} has returned. */
  void addAll(JsonObject json) {
    for (String curve : json.fieldNames()) {
      JsonObject last = json.getJsonObject(curve);
      add(curve, last.getLong("step"), last.getFloat("value"));
    }
  }

  private boolean continues(Metric metric) {
    Last last = curves.get(metric.name());
    float value = (float) metric.value();
    boolean another =
        metric.name().startsWith(REPEATABLE)
            && last != null
            && metric.step() == last.step()
            && value != last.value();
    if (last != null && metric.step() <= last.step() && !another) {
      return false;
    }
    curves.put(metric.name(), new Last(metric.step(), value));
    return true;
  }
}
