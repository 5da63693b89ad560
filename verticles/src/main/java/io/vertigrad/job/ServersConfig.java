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
    section.refuseUnknown();
    return config;
  }
}
