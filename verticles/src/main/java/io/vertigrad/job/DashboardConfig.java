package io.vertigrad.job;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;

/**
 * The web page that shows a run.
 *
 * @param enabled false for no page
 * @param host address that it listens on; loopback unless set
 * @param port its port; a free port is used if it is taken, or 0
 */
public record DashboardConfig(boolean enabled, String host, int port) {

  static DashboardConfig read(Settings section) {
    DashboardConfig config =
        new DashboardConfig(
            section.flag("enabled", true),
            ClusterConfig.host(section.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE)),
            section.integer("port", 8_350, 0, 65_535));
    section.refuseUnknown();
    return config;
  }
}
