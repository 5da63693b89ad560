package io.vertigrad.launcher.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.List;

/** The keys that every job has, for questions about keys before a job file is read. Any thread. */
public final class JobKeys {

  /** Nothing changes it after it has been read. */
  private static final JobConfig DEFAULTS = JobConfig.read("defaults", new JsonObject());

  private JobKeys() {}

  /**
   * Returns true if a key or a section has a trait. A key that only some jobs have is taken for one
   * of its section.
   */
  public static boolean has(String path, KeyTrait trait) {
    return DEFAULTS.settings().traits(path).contains(trait);
  }

  /** Returns the keys with a trait, sorted. */
  static List<String> with(KeyTrait trait) {
    return DEFAULTS.settings().keys().stream().filter(key -> has(key, trait)).toList();
  }

  /** Returns true for a key that every job has; false for a section. */
  static boolean isKey(String path) {
    return DEFAULTS.settings().keys().contains(path);
  }

  /** Returns the job file of a job that sets nothing. */
  static JsonObject defaults() {
    return DEFAULTS.json();
  }
}
