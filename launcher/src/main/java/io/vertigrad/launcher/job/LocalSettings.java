package io.vertigrad.launcher.job;

import io.vertigrad.job.ClusterConfig;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Separates the settings that are valid on one machine only: paths and addresses. A run's {@code
 * job.json} goes to other machines without them; a member on this machine gets them as options.
 */
public final class LocalSettings {

  private static final List<String> KEYS =
      List.of(
          "data.directory",
          "checkpoint.directory",
          "cluster.host",
          "cluster.members",
          "cluster.certificate",
          "cluster.key",
          "cluster.authority",
          "cluster.secretFile");

  private static final List<String> PATHS =
      KEYS.stream()
          .filter(key -> !key.equals("cluster.host") && !key.equals("cluster.members"))
          .toList();

  private static final String LOOPBACK = "127.0.0.1";

  private LocalSettings() {}

  /** Returns the job file without the local settings. */
  public static JsonObject removedFrom(JsonObject job) {
    JsonObject portable = job.copy();
    for (String key : KEYS) {
      int dot = key.indexOf('.');
      JsonObject section = portable.getJsonObject(key.substring(0, dot));
      if (section != null) {
        section.remove(key.substring(dot + 1));
      }
    }
    return portable;
  }

  /**
   * Returns the local settings only, with absolute paths, so that they mean the same in any folder.
   */
  public static JsonObject of(JsonObject job) {
    JsonObject local = new JsonObject();
    for (String key : KEYS) {
      int dot = key.indexOf('.');
      JsonObject section = job.getJsonObject(key.substring(0, dot));
      String last = key.substring(dot + 1);
      if (section != null && section.getValue(last) != null) {
        Object value = section.getValue(last);
        boolean path = value instanceof String && !last.equals("host");
        String name = key.substring(0, dot);
        if (!local.containsKey(name)) {
          local.put(name, new JsonObject());
        }
        local
            .getJsonObject(name)
            .put(last, path ? Path.of((String) value).toAbsolutePath().toString() : value);
      }
    }
    return local;
  }

  /**
   * Returns the options that pass the local settings to a node of this machine. Each node gets the
   * folder of checkpoints: a worker beside servers writes positions of streams and residuals there.
   */
  public static List<String> options(JobConfig job) {
    List<String> options = new ArrayList<>();
    if (!job.cluster().host().equals(LOOPBACK)) {
      options.addAll(List.of("--host", job.cluster().host()));
    }
    options.addAll(files(job));
    job.checkpoint()
        .directory()
        .ifPresent(path -> set(options, "checkpoint.directory", path.toString()));
    return options;
  }

  /** Returns the same options with absolute paths, which mean the same in every folder. */
  public static List<String> absolute(JobConfig job) {
    return options(withAbsolutePaths(job));
  }

  /**
   * Returns the options that a node of another machine needs, with this machine's absolute paths of
   * data and certificates.
   */
  public static List<String> portable(JobConfig job) {
    return files(withAbsolutePaths(job));
  }

  private static List<String> files(JobConfig job) {
    List<String> options = new ArrayList<>();
    job.data().directory().ifPresent(path -> options.addAll(List.of("--data", path.toString())));
    ClusterConfig cluster = job.cluster();
    cluster.certificate().ifPresent(file -> set(options, "cluster.certificate", file));
    cluster.key().ifPresent(file -> set(options, "cluster.key", file));
    cluster.authority().ifPresent(file -> set(options, "cluster.authority", file));
    return options;
  }

  private static JobConfig withAbsolutePaths(JobConfig job) {
    JsonObject json = job.json();
    for (String key : KEYS) {
      JsonObject section = json.getJsonObject(key.substring(0, key.indexOf('.')));
      String name = key.substring(key.indexOf('.') + 1);
      if (section != null && PATHS.contains(key) && section.getString(name) != null) {
        section.put(name, Path.of(section.getString(name)).toAbsolutePath().toString());
      }
    }
    return JobConfig.read(job.origin(), json);
  }

  private static void set(List<String> options, String key, String text) {
    options.addAll(List.of("--set", Assignment.words(key, text)));
  }
}
