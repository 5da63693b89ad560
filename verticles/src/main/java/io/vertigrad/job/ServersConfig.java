package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;

/**
 * The parameter servers of a job.
 *
 * @param count number of shards, each on its own server verticle
 * @param replicas 1 for a backup of each server on another verticle, which replaces a lost server;
 *     0 for none
 */
public record ServersConfig(int count, int replicas) {

  static ServersConfig read(Settings section) {
    ServersConfig config =
        new ServersConfig(
            section.with(KeyTrait.AGREED).integer("count", 1, 1, 1024),
            section.with(KeyTrait.AGREED, KeyTrait.CHANGEABLE).integer("replicas", 0, 0, 1));
    section.refuseUnknown();
    return config;
  }

  /**
   * Returns the number of server verticles of a job, including backups.
   *
   * @return at least 1
   */
  public int verticles() {
    return count * (1 + replicas);
  }
}
