package io.vertigrad.launcher;

import io.vertigrad.dashboard.DashboardVerticle;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import java.net.URI;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Optional;

/** The page that shows a run, and the verticle it gets its numbers from. */
final class Dashboard {

  private static final int TOKEN_BYTES = 16;

  private Dashboard() {}

  /** A new secret for whoever may control a run from its page. */
  static String token() {
    byte[] bytes = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /** Starts both; completes with the page's address. */
  static Future<String> start(Vertx vertx, JobConfig job, Deployable source) {
    DeploymentOptions options = new DeploymentOptions().setConfig(job.json());
    DashboardVerticle page = new DashboardVerticle();
    return vertx
        .deployVerticle(source, options)
        .compose(deployed -> vertx.deployVerticle(page, options))
        .map(deployed -> page.url());
  }

  /**
   * A line for people when a page is not on the port that was asked for.
   *
   * @param wanted the port; 0 for any
   * @param url where the page is
   */
  static Optional<String> otherPort(int wanted, String url) {
    return wanted == 0 || URI.create(url).getPort() == wanted
        ? Optional.empty()
        : Optional.of(
            "port %d is taken, perhaps by another run's page: see %s".formatted(wanted, url));
  }
}
