package io.vertigrad.verticles.coordinator;

import io.vertigrad.verticles.job.JobConfig;
import io.vertigrad.verticles.job.NamedConfig;
import io.vertx.core.json.JsonObject;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * The settings that all members of a job must agree on; paths, threads and limits may differ.
 *
 * @param values one entry per setting, keyed by its path in the job file
 */
record JobTerms(JsonObject values) {

  static JobTerms of(JobConfig job) {
    return new JobTerms(
        new JsonObject()
            .put("job", job.addresses().job())
            .put("seed", job.seed())
            .put("steps", job.steps())
            .put("engine", job.engine())
            .put("model", named(job.model()))
            .put("data.name", job.data().name())
            .put("optimizer", job.json().getJsonObject("optimizer", new JsonObject()).encode())
            .put("strategy", named(job.strategy()))
            .put("pipeline", job.json().getJsonObject("pipeline", new JsonObject()).encode())
            .put("workers.count", job.workers().count())
            .put("servers.count", job.servers().count())
            .put("exchange.type", job.exchange().type().name())
            .put("exchange.partitionElements", job.exchange().partitionElements()));
  }

  /** Where a newcomer's terms first differ from these, in words that name the setting. */
  Optional<String> firstDifference(JobTerms other) {
    Set<String> keys = new TreeSet<>(values.fieldNames());
    keys.addAll(other.values.fieldNames());
    return keys.stream()
        .filter(key -> !text(this, key).equals(text(other, key)))
        .map(key -> "%s: found %s, expected %s".formatted(key, text(other, key), text(this, key)))
        .findFirst();
  }

  private static String text(JobTerms terms, String key) {
    return Objects.toString(terms.values.getValue(key), "nothing");
  }

  private static String named(NamedConfig config) {
    return config.settings().toJson().put("name", config.name()).encode();
  }
}
