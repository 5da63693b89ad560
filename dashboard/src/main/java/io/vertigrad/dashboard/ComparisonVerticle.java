package io.vertigrad.dashboard;

import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;

/**
 * Serves the page that shows finished runs on top of each other; {@code /comparison} has what it
 * shows, as {@code docs/reference/metrics.md} describes it.
 */
public final class ComparisonVerticle extends VerticleBase {

  private final DashboardConfig where;
  private final Buffer comparison;
  private volatile String url;

  /** {@code comparison} does not change any more. */
  public ComparisonVerticle(DashboardConfig where, JsonObject comparison) {
    this.where = where;
    this.comparison = comparison.toBuffer();
  }

  @Override
  public Future<?> start() {
    Router router = PageFiles.guarded(vertx, where.host());
    router
        .get("/comparison")
        .handler(
            request ->
                request.response().putHeader("Content-Type", "application/json").end(comparison));
    router.get().handler(PageFiles.startingAt("compare.html"));
    return new PageServer(vertx, where).start(router).onSuccess(address -> url = address);
  }

  /** Where the page is; once deployed. */
  public String url() {
    return url;
  }
}
