package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;

/**
 * The parameter servers of a job.
 *
 * @param count server verticles, one shard each
 */
public record ServersConfig(int count) {

  static ServersConfig read(Settings section) {
    ServersConfig config = new ServersConfig(section.integer("count", 1, 1, 1024));
    section.refuseUnknown();
    return config;
  }
}
