package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.regex.Pattern;

/**
 * Separates the settings that are valid on one machine only: paths and addresses. A run's {@code
 * job.json} goes to other machines without them; a member on this machine gets them as options.
 */
public final class LocalSettings {

  private static final String DATA = "data.directory";
  private static final String TLS = "cluster.tls";
  private static final String SECRET = "cluster.secretFile";

  /** Keys whose paths a machine may name in an environment variable, for every job. */
  public static final Map<String, String> VARIABLES =
      new TreeMap<>(
          Map.of(DATA, "VERTIGRAD_DATA", SECRET, "VERTIGRAD_SECRET", TLS, "VERTIGRAD_TLS"));

  /** What a node is given in other ways, or does not need: only the coordinator serves pages. */
  private static final Set<String> NOT_FOR_NODES =
      Set.of(DATA, "cluster.host", "cluster.members", SECRET);

  /** Members agree on these, so that each has the file at the same path. */
  private static final String MODEL = "model.name";

  private static final String PARAMETERS = "model.parameters";

  /** A {@code model.name} that is neither the name of a network nor of a class. */
  private static final Pattern FILE = Pattern.compile("[/\\\\]|\\.(zip|json|pth?|h5|hdf5|keras)$");

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
    all.addAll(List.of(MODEL, PARAMETERS));
    for (String key : all) {
      Object found = value(file.json(), key);
      boolean isPath =
          found instanceof String text
              && !key.endsWith(".host")
              && (!key.equals(MODEL) || FILE.matcher(text).find());
      if (isPath && !replaced.test(key)) {
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
    keys(job).forEach(key -> new Assignment(key, absolute(key, value(json, key))).applyTo(local));
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
    return settings(job, withAbsolutePaths(job), Set.of("checkpoint.directory", TLS));
  }

  /**
   * Returns the options of data, certificates and a secret that the job file names, for the shell
   * of another machine. Each takes the path that a variable has there, or else this machine's
   * absolute path.
   */
  public static String pathsOf(JobConfig job) {
    return option("--data", DATA, job)
        + option("--tls", TLS, job)
        + option("--secret", SECRET, job);
  }

  private static String option(String name, String key, JobConfig job) {
    return value(withAbsolutePaths(job), key) instanceof String path
        ? " %s \"${%s:-%s}\""
            .formatted(name, VARIABLES.get(key), path.replaceAll("[\\\\\"$`}]", "\\\\$0"))
        : "";
  }

  private static List<String> options(JobConfig job, JsonObject json) {
    List<String> options = new ArrayList<>();
    boolean usual = job.cluster().discovery().equals(ClusterConfig.MEMBERS);
    if (!usual || !job.cluster().host().equals(LOOPBACK)) {
      options.addAll(List.of("--host", job.cluster().host()));
    }
    job.data()
        .directory()
        .ifPresent(path -> options.addAll(List.of("--data", String.valueOf(value(json, DATA)))));
    options.addAll(settings(job, json, Set.of()));
    return options;
  }

  private static List<String> settings(JobConfig job, JsonObject json, Set<String> without) {
    List<String> options = new ArrayList<>();
    JsonObject defaults = JobConfig.read("defaults", new JsonObject()).json();
    for (String key : keys(job)) {
      Object value = value(json, key);
      boolean forNodes =
          !NOT_FOR_NODES.contains(key)
              && !key.startsWith("serving.")
              && !key.startsWith("dashboard.")
              && !without.contains(key);
      if (forNodes && !value.equals(value(defaults, key))) {
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

  private static Object absolute(String key, Object value) {
    return value instanceof String path && !key.endsWith(".host")
        ? Path.of(path).toAbsolutePath().toString()
        : value;
  }
}
