package io.vertigrad.launcher.job;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * Separates the settings that are valid on one machine only: paths and addresses. A run's {@code
 * job.json} goes to other machines without them; a member on this machine gets them as options.
 */
public final class LocalSettings {

  private static final String LOOPBACK = "127.0.0.1";

  private LocalSettings() {}

  /** Returns the job file without the local settings. */
  public static JsonObject removedFrom(JobConfig job) {
    JsonObject portable = job.json();
    keys(job).forEach(key -> new Assignment(key, null).applyTo(portable));
    return portable;
  }

  /**
   * Refuses paths in a file of another machine: here they mean something else.
   *
   * @param file the job file as it was written
   * @param job the job that it has become
   * @param replaced whether this machine has its own value of a key
   * @throws InputException naming the key, and what to do
   */
  static void refuseIn(JobFile file, JobConfig job, Predicate<String> replaced) {
    List<String> all = new ArrayList<>(keys(job));
    all.addAll(keys(job, KeyTrait.MODEL_FILE));
    for (String key : all) {
      Object found = value(file.json(), key);
      if (isPath(job, key, found) && !replaced.test(key)) {
        throw new InputException(
            "%s: %s is %s, a path of the machine that wrote it; leave it out there, or give this machine's with --set %s=..."
                .formatted(file.origin(), key, found, key));
      }
    }
  }

  /**
   * Returns the local settings only, with absolute paths, so that they mean the same in any folder.
   */
  public static JsonObject of(JobConfig job) {
    JsonObject json = job.json();
    JsonObject local = new JsonObject();
    for (String key : keys(job)) {
      Object value = value(json, key);
      boolean path = isPath(job, key, value);
      new Assignment(key, path ? Path.of((String) value).toAbsolutePath().toString() : value)
          .applyTo(local);
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
   * Returns the options that a node of another machine needs, with this machine's absolute paths,
   * except for those of {@link #pathsOf}.
   */
  public static List<String> portable(JobConfig job) {
    return settings(
        job, withAbsolutePaths(job), Set.of("checkpoint.directory", MachinePath.TLS.key()));
  }

  /**
   * Returns the options of data, certificates and a secret that the job file names, for the shell
   * of another machine. Each takes the path that a variable has there, or else this machine's
   * absolute path.
   */
  public static String pathsOf(JobConfig job) {
    JsonObject json = withAbsolutePaths(job);
    StringBuilder options = new StringBuilder();
    for (MachinePath each : MachinePath.values()) {
      if (value(json, each.key()) instanceof String path) {
        String quoted = path.replaceAll("[\\\\\"$`}]", "\\\\$0");
        options.append(" %s \"${%s:-%s}\"".formatted(each.option(), each.variable(), quoted));
      }
    }
    return options.toString();
  }

  private static List<String> options(JobConfig job, JsonObject json) {
    List<String> options = new ArrayList<>();
    boolean usual = job.cluster().discovery().equals(ClusterConfig.MEMBERS);
    if (!usual || !job.cluster().host().equals(LOOPBACK)) {
      options.addAll(List.of("--host", job.cluster().host()));
    }
    job.data()
        .directory()
        .map(path -> String.valueOf(value(json, MachinePath.DATA.key())))
        .ifPresent(path -> options.addAll(List.of(MachinePath.DATA.option(), path)));
    options.addAll(settings(job, json, Set.of()));
    return options;
  }

  private static List<String> settings(JobConfig job, JsonObject json, Set<String> without) {
    List<String> options = new ArrayList<>();
    JsonObject defaults = JobKeys.defaults();
    for (String key : keys(job)) {
      Object value = value(json, key);
      boolean passed = !has(job, key, KeyTrait.NOT_PASSED) && !without.contains(key);
      if (passed && !value.equals(value(defaults, key))) {
        options.addAll(List.of("--set", Assignment.words(key, value)));
      }
    }
    return options;
  }

  private static JsonObject withAbsolutePaths(JobConfig job) {
    return job.json().mergeIn(of(job), true);
  }

  private static boolean has(JobConfig job, String key, KeyTrait trait) {
    return job.settings().traits(key).contains(trait);
  }

  /** Returns true for text that is a path: no address, and no name of a network or a class. */
  private static boolean isPath(JobConfig job, String key, Object value) {
    return value instanceof String text
        && !has(job, key, KeyTrait.ADDRESS)
        && (!has(job, key, KeyTrait.COMPONENT)
            || text.matches("(?s).*[/\\\\].*")
            || Engine.isFileOfAny(text));
  }

  /** Returns the local keys that have a value. */
  private static List<String> keys(JobConfig job) {
    return keys(job, KeyTrait.LOCAL);
  }

  private static List<String> keys(JobConfig job, KeyTrait trait) {
    JsonObject json = job.json();
    return job.settings().keys().stream()
        .filter(key -> has(job, key, trait))
        .filter(key -> value(json, key) != null)
        .toList();
  }

  /** Returns the value of a key, or null if it or a section around it is missing. */
  private static Object value(JsonObject job, String key) {
    Object found = job;
    for (String name : key.split("\\.")) {
      found = found instanceof JsonObject section ? section.getValue(name) : null;
    }
    return found;
  }
}
