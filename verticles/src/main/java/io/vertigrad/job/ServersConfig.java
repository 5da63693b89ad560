package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;

/**
 * The parameter servers of a job.
 *
 * @param count number of shards, each on its own server verticle
 */
public record ServersConfig(int count) {

  static ServersConfig read(Settings section) {
    ServersConfig config =
        new ServersConfig(section.with(KeyTrait.AGREED).integer("count", 1, 1, 1024));
    section.refuseRemoved(
        "replicas",
        0,
        "no longer there: servers have no backups, and a replacement goes on from a checkpoint to"
            + " the same parameters; delete the key, and keep checkpoint.seconds or"
            + " checkpoint.every above 0");
    section.refuseUnknown();
    return config;
  }
}
