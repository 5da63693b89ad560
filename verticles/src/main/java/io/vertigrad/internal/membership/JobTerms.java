package io.vertigrad.internal.membership;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * The settings that all members of a job must agree on; folders, threads and limits may differ.
 *
 * @param values one text per setting, keyed by its path in the job file
 * @param fingerprints of the data and model files, as far as they are known
 */
record JobTerms(Map<String, String> values, Map<String, DataFingerprint> fingerprints) {

  JobTerms {
    values = Map.copyOf(values);
    fingerprints = Map.copyOf(fingerprints);
  }

  static JobTerms of(JobConfig job) {
    Map<String, String> all = new TreeMap<>();
    flatten("", job.json(), all);
    all.keySet().removeIf(key -> !job.settings().traits(key).contains(KeyTrait.AGREED));
    all.replaceAll(
        (key, value) ->
            job.settings().traits(key).contains(KeyTrait.MODEL_FILE)
                ? value.substring(value.lastIndexOf('/') + 1)
                : value);
    all.put("steps", String.valueOf(job.steps()));
    return new JobTerms(all, job.fingerprints());
  }

  /** Returns whether each member trains on data of its own; their form is agreed on. */
  boolean ownData() {
    return "own".equals(values.get("workers.data"));
  }

  /** Returns the same terms with further fingerprints; those that are known stay. */
  JobTerms with(Map<String, DataFingerprint> more) {
    Map<String, DataFingerprint> all = new TreeMap<>(more);
    all.putAll(fingerprints);
    return new JobTerms(values, all);
  }

  /** Describes the first setting in which the other terms differ from these; empty if none does. */
  Optional<String> firstDifference(JobTerms other) {
    Set<String> keys = new TreeSet<>(values.keySet());
    keys.addAll(other.values.keySet());
    return keys.stream()
        .filter(key -> !valueOf(this, key).equals(valueOf(other, key)))
        .map(
            key ->
                "%s: found %s, expected %s".formatted(key, valueOf(other, key), valueOf(this, key)))
        .findFirst();
  }

  private static String valueOf(JobTerms terms, String key) {
    return terms.values.getOrDefault(key, "nothing");
  }

  private static void flatten(String path, Object value, Map<String, String> into) {
    if (value instanceof JsonObject section) {
      String prefix = path.isEmpty() ? "" : path + ".";
      section.forEach(entry -> flatten(prefix + entry.getKey(), entry.getValue(), into));
    } else if (value != null) {
      into.put(path, canonicalText(value));
    }
  }

  /** Returns the same text for equal values, however JSON or YAML writes them. */
  private static String canonicalText(Object value) {
    if (value instanceof Number number) {
      return new BigDecimal(number.toString()).stripTrailingZeros().toPlainString();
    }
    return value instanceof JsonArray list
        ? list.stream().map(JobTerms::canonicalText).collect(Collectors.joining(", ", "[", "]"))
        : String.valueOf(value);
  }
}
