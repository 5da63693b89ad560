package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;

/**
 * The behaviour of a job whose coordinator's process ends before it.
 *
 * @param standby true to let another process wait and then take the coordinator's place
 */
public record StandbyConfig(boolean standby) {

  static StandbyConfig read(Settings section) {
    StandbyConfig config = new StandbyConfig(section.flag("standby", false));
    section.refuseUnknown();
    return config;
  }
}
