package io.vertigrad.launcher;

import io.vertigrad.dashboard.DashboardVerticle;
import io.vertigrad.internal.cluster.JoinPoint;
import io.vertigrad.job.JobConfig;
import io.vertx.core.Deployable;
import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.net.URI;
import java.util.Optional;

/** Starts the page that shows a run, and the verticle that supplies its numbers. */
final class Dashboard {

  private Dashboard() {}

  /** Starts the verticle and the page; completes with the page's address. */
  static Future<String> start(Vertx vertx, JobConfig job, Deployable source) {
    return start(vertx, job.json(), source);
  }

  /** Starts the verticle and the page with a job file as the page shows it. */
  static Future<String> start(Vertx vertx, JsonObject job, Deployable source) {
    DeploymentOptions options = new DeploymentOptions().setConfig(job);
    DashboardVerticle page = new DashboardVerticle();
    return vertx
        .deployVerticle(source, options)
        .compose(deployed -> vertx.deployVerticle(page, options))
        .map(deployed -> page.url());
  }

  /** Returns a line for the user when other machines reach the page. */
  static Optional<String> openTo(String host) {
    return JoinPoint.isLoopback(host)
        ? Optional.empty()
        : Optional.of(
            "the page listens on %s: everyone who reaches it can watch; it goes by its address and the names in dashboard.hosts"
                .formatted(host));
  }

  /**
   * Returns a line for the user when the page is not on the port that was asked for.
   *
   * @param wanted the port; 0 for any
   * @param url the page's address
   */
  static Optional<String> otherPort(int wanted, String url) {
    return wanted == 0 || URI.create(url).getPort() == wanted
        ? Optional.empty()
        : Optional.of(
            "port %s is taken, perhaps by another run's page: see %s".formatted(wanted, url));
  }
}
