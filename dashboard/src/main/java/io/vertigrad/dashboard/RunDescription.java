package io.vertigrad.dashboard;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.json.JsonObject;

/**
 * The properties of a job that do not change while it runs.
 *
 * @param job the job's name
 * @param config the resolved job file
 * @param servers number of servers that the job needs; 0 when workers exchange without servers
 * @param lockstep true when workers move in rounds and wait for each other
 * @param controllable true when a page with the token may control the job
 * @param folder the run's folder, as its command printed it; empty when unknown
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
    StrategyTraits traits =
        StrategyProviders.configure(job.strategy(), RunDescription.class.getClassLoader()).traits();
    int servers = traits.besideServers() ? job.servers().count() : 0;
    return new RunDescription(
        job.addresses().job(), job, servers, traits.lockstep(), controllable, folder);
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
