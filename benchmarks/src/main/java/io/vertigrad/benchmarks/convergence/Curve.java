package io.vertigrad.benchmarks.convergence;

import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.TreeMap;

/**
 * The accuracy and consensus of a run by version, read from its events.
 *
 * @param accuracy accuracy in percent, by version
 * @param consensus distance of the workers from their mean, by version; empty with a server
 * @param lastVersion the run's last version
 */
record Curve(TreeMap<Long, Double> accuracy, TreeMap<Long, Double> consensus, long lastVersion) {

  static Curve of(List<JsonObject> events, long lastVersion) {
    TreeMap<Long, Double> accuracy = new TreeMap<>();
    TreeMap<Long, Double> consensus = new TreeMap<>();
    for (JsonObject event : events) {
      if (event.getString("type").equals("evaluated")) {
        accuracy.put(event.getLong("version"), event.getDouble("accuracy"));
      } else if (event.getString("type").equals("replicasAveraged")) {
        consensus.put(event.getLong("version"), event.getDouble("consensusDistance"));
      }
    }
    return new Curve(accuracy, consensus, lastVersion);
  }

  /** Returns the accuracy of the first test at or after this share of the samples. */
  double accuracyAt(double share) {
    return at(accuracy, share);
  }

  /**
   * Returns the consensus distance of the first report at or after this share of the samples; 0
   * with a server, where there is one model.
   */
  double consensusAt(double share) {
    return consensus.isEmpty() ? 0 : at(consensus, share);
  }

  private double at(TreeMap<Long, Double> values, double share) {
    Long version = values.ceilingKey((long) Math.floor(share * lastVersion));
    return values.get(version == null ? values.lastKey() : version);
  }
}
