package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * Separates the settings that are valid on one machine only: paths and addresses. A run's {@code
 * job.json} goes to other machines without them; a member on this machine gets them as options.
 */
public final class LocalSettings {

  private static final String DATA = "data.directory";

  /** What a node is given in other ways, or does not need: only the coordinator serves pages. */
  private static final Set<String> NOT_FOR_NODES =
      Set.of(DATA, "cluster.host", "cluster.members", "cluster.secretFile");

  private static final String LOOPBACK = "127.0.0.1";

  private LocalSettings() {}

  /** Returns the job file without the local settings. */
  public static JsonObject removedFrom(JobConfig job) {
    JsonObject portable = job.json();
    for (String key : keys(job)) {
      section(portable, key).remove(last(key));
    }
    return portable;
  }

  /**
   * Returns the local settings only, with absolute paths, so that they mean the same in any folder.
   */
  public static JsonObject of(JobConfig job) {
    JsonObject json = job.json();
    JsonObject local = new JsonObject();
    for (String key : keys(job)) {
      Object value = section(json, key).getValue(last(key));
      String name = key.substring(0, key.indexOf('.'));
      if (!local.containsKey(name)) {
        local.put(name, new JsonObject());
      }
      local.getJsonObject(name).put(last(key), absolute(key, value));
    }
    return local;
  }

  /**
   * Returns the options that pass the local settings to a node of this machine. Each node gets the
   * folder of checkpoints: a worker beside servers writes positions of streams and residuals there.
   */
  public static List<String> options(JobConfig job) {
    return options(job, job.json());
  }

  /** Returns the same options with absolute paths, which mean the same in every folder. */
  public static List<String> absolute(JobConfig job) {
    return options(job, withAbsolutePaths(job));
  }

  /**
   * Returns the options that a node of another machine needs, with this machine's absolute paths of
   * data and certificates.
   */
  public static List<String> portable(JobConfig job) {
    return files(job, withAbsolutePaths(job), Set.of("checkpoint.directory"));
  }

  private static List<String> options(JobConfig job, JsonObject json) {
    List<String> options = new ArrayList<>();
    if (!job.cluster().host().equals(LOOPBACK)) {
      options.addAll(List.of("--host", job.cluster().host()));
    }
    options.addAll(files(job, json, Set.of()));
    return options;
  }

  private static List<String> files(JobConfig job, JsonObject json, Set<String> without) {
    List<String> options = new ArrayList<>();
    job.data()
        .directory()
        .ifPresent(
            path -> options.addAll(List.of("--data", section(json, DATA).getString(last(DATA)))));
    JsonObject defaults = JobConfig.read("defaults", new JsonObject()).json();
    for (String key : keys(job)) {
      String value = String.valueOf(section(json, key).getValue(last(key)));
      boolean forNodes =
          !NOT_FOR_NODES.contains(key)
              && !key.startsWith("serving.")
              && !key.startsWith("dashboard.")
              && !without.contains(key);
      if (forNodes && !value.equals(section(defaults, key).getValue(last(key)))) {
        options.addAll(List.of("--set", Assignment.words(key, value)));
      }
    }
    return options;
  }

  private static JsonObject withAbsolutePaths(JobConfig job) {
    return job.json().mergeIn(of(job), true);
  }

  /** Returns the local keys that have a value. */
  private static List<String> keys(JobConfig job) {
    JsonObject json = job.json();
    return job.settings().keys().stream()
        .filter(key -> job.settings().traits(key).contains(KeyTrait.LOCAL))
        .filter(key -> section(json, key).getValue(last(key)) != null)
        .toList();
  }

  private static JsonObject section(JsonObject job, String key) {
    return job.getJsonObject(key.substring(0, key.indexOf('.')), new JsonObject());
  }

  private static String last(String key) {
    return key.substring(key.indexOf('.') + 1);
  }

  private static Object absolute(String key, Object value) {
    return value instanceof String path && !key.endsWith(".host")
        ? Path.of(path).toAbsolutePath().toString()
        : value;
  }
}
