package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;

/**
 * What happens when the coordinator's process ends before the job.
 *
 * @param standby true to have another process wait beside it, which then takes its place
 */
public record StandbyConfig(boolean standby) {

  static StandbyConfig read(Settings section) {
    StandbyConfig config = new StandbyConfig(section.flag("standby", false));
    section.refuseUnknown();
    return config;
  }
}
