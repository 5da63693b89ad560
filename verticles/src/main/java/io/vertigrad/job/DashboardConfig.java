package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.util.List;
import java.util.regex.Pattern;

/**
 * The web page that shows a run.
 *
 * @param enabled false for no page
 * @param host address that it listens on; loopback unless set
 * @param port its port; a free port is used if it is taken, or 0
 * @param hosts further names by which it may be asked; {@code *.example} is any name below that one
 * @param origins pages of other servers that may ask too, as browsers send it: {@code
 *     https://team.example:8443}
 */
public record DashboardConfig(
    boolean enabled, String host, int port, List<String> hosts, List<String> origins) {

  /** A browser sends small letters, no path, and no port that the scheme implies. */
  private static final Pattern ORIGIN =
      Pattern.compile(
          "(http(?!.*:80$)|https(?!.*:443$))://([a-z0-9.-]+|\\[[0-9a-f:]+])(:\\d{1,5})?");

  static DashboardConfig read(Settings section) {
    DashboardConfig config =
        new DashboardConfig(
            section.flag("enabled", true),
            ClusterConfig.host(section),
            section.integer("port", 8_350, 0, 65_535),
            ClusterConfig.hosts(section),
            List.copyOf(section.textList("origins", List.of())));
    for (String origin : config.origins) {
      if (!ORIGIN.matcher(origin).matches()) {
        throw section.refuse(
            "origins",
            ("has \"%s\", expected the origin of a page as its browser sends it, for example"
                    + " \"https://team.example:8443\": scheme, host in small letters and the port"
                    + " if it is not the usual one, no path and no *")
                .formatted(origin));
      }
    }
    section.refuseUnknown();
    return config;
  }
}
