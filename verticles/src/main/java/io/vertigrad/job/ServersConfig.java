package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;

/**
 * The parameter servers of a job.
 *
 * @param count shards, each on a server verticle of its own
 * @param replicas 1 for a backup of each, on another verticle, which goes on when its server is
 *     lost; 0 for none
 */
public record ServersConfig(int count, int replicas) {

  static ServersConfig read(Settings section) {
    ServersConfig config =
        new ServersConfig(
            section.integer("count", 1, 1, 1024), section.integer("replicas", 0, 0, 1));
    section.refuseUnknown();
    return config;
  }

  /**
   * Returns the server verticles of a job, backups included.
   *
   * @return at least 1
   */
  public int verticles() {
    return count * (1 + replicas);
  }
}
