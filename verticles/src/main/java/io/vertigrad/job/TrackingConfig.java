package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.net.URI;
import java.util.Optional;

/**
 * Other programs that receive a run's progress.
 *
 * @param tensorboard true to write TensorBoard event files into the run's folder
 * @param mlflow address of an MLflow server; empty for none
 * @param experiment name of the MLflow experiment that the run belongs to
 */
public record TrackingConfig(boolean tensorboard, Optional<URI> mlflow, String experiment) {

  private static final String MLFLOW = "mlflow";

  static TrackingConfig read(Settings section) {
    TrackingConfig config =
        new TrackingConfig(
            section.flag("tensorboard", false),
            section.address(MLFLOW),
            section.string("experiment", "vertigrad"));
    section.refuseUnknown();
    config
        .mlflow()
        .filter(server -> !isWeb(server))
        .ifPresent(
            server -> {
              throw section.refuse(
                  MLFLOW,
                  "is \"%s\", expected an address such as http://127.0.0.1:5000".formatted(server));
            });
    return config;
  }

  private static boolean isWeb(URI server) {
    boolean web = "http".equals(server.getScheme()) || "https".equals(server.getScheme());
    return web && server.getHost() != null;
  }
}
