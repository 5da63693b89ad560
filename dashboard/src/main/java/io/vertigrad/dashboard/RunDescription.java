package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;

/**
 * What does not change while a job runs.
 *
 * @param job its name
 * @param config the resolved job file
 * @param servers how many there should be; 0 in a job whose workers exchange among themselves
 * @param lockstep true when workers move in rounds and wait for each other
 * @param controllable true when a page with the token may stop it, and so on
 * @param folder where it is recorded, as its command printed it; empty when nobody said
 */
record RunDescription(
    String job,
    JobConfig config,
    int servers,
    boolean lockstep,
    boolean controllable,
    String folder) {

  public static RunDescription of(JobConfig job, boolean controllable) {
    return of(job, controllable, "");
  }

  public static RunDescription of(JobConfig job, boolean controllable, String folder) {
    StrategyFactory strategy =
        StrategyProviders.configure(job.strategy(), RunDescription.class.getClassLoader());
    int servers = strategy.servers(job.servers().count());
    return new RunDescription(
        job.addresses().job(), job, servers, strategy.lockstep(), controllable, folder);
  }

  JsonObject toJson() {
    JsonObject json =
        new JsonObject()
            .put("config", config.json())
            .put("workers", config.workers().count())
            .put("servers", servers)
            .put("lockstep", lockstep)
            .put("controllable", controllable);
    if (!folder.isEmpty()) {
      json.put("folder", folder);
    }
    if (servers == 0) {
      json.put("links", TopologyLinks.of(config));
    }
    return json;
  }
}
