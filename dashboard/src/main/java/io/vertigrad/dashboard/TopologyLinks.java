package io.vertigrad.dashboard;

import io.vertigrad.collective.MixingMatrix;
import io.vertigrad.collective.Topology;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Set;
import java.util.TreeSet;

/**
 * Lists which workers exchange with each other, for the drawing: pairs of ranks, the lower one
 * first, as the job file defines them.
 */
final class TopologyLinks {

  private static final int DRAWN = 64;

  private final int workers;
  private final Set<String> seen = new TreeSet<>();
  private final JsonArray pairs = new JsonArray();

  private TopologyLinks(int workers) {
    this.workers = Math.min(workers, DRAWN);
  }

  /**
   * Returns the pairs of a job without servers. With more than {@value #DRAWN} workers it returns
   * the pairs among the first ones.
   */
  static JsonArray of(JobConfig job) {
    TopologyLinks links = new TopologyLinks(job.workers().count());
    JsonObject strategy = job.strategy().settings().toJson();
    switch (job.strategy().name()) {
      case "allreduce" -> links.connect(Topology.named("ring-deduplicated", links.workers));
      case "dpsgd", "clippedGossip" -> links.connect(strategy);
      default -> links.connect(Topology.named("complete", links.workers));
    }
    return links.pairs;
  }

  private void connect(JsonObject strategy) {
    if (strategy.getValue("edges") instanceof JsonArray edges) {
      edges.forEach(
          edge -> add(((JsonArray) edge).getInteger(0), ((JsonArray) edge).getInteger(1)));
    } else if (strategy.getValue("mixing") instanceof JsonArray rows) {
      for (int i = 0; i < rows.size(); i++) {
        for (int j = 0; j < i; j++) {
          if (rows.getJsonArray(i).getDouble(j) + rows.getJsonArray(j).getDouble(i) > 0) {
            add(i, j);
          }
        }
      }
    } else if (strategy.getString("topology", "ring").equals("base-k")) {
      connect(Topology.baseK(workers, strategy.getInteger("degree", 1)));
    } else {
      connect(Topology.named(strategy.getString("topology", "ring"), workers));
    }
  }

  private void connect(Topology topology) {
    for (MixingMatrix round : topology.rounds()) {
      for (int i = 0; i < workers; i++) {
        for (int j = 0; j < i; j++) {
          if (round.weight(i, j) + round.weight(j, i) > 0) {
            add(i, j);
          }
        }
      }
    }
  }

  private void add(int one, int other) {
    int low = Math.min(one, other);
    int high = Math.max(one, other);
    if (low != high && high < workers && seen.add(low + "-" + high)) {
      pairs.add(JsonArray.of(low, high));
    }
  }
}
