package io.vertigrad.dashboard;

import io.vertigrad.job.DashboardConfig;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;

/**
 * Serves the page that shows several finished runs in the same charts. The data is at {@code
 * /comparison}, as {@code docs/reference/metrics.md} describes it.
 */
public final class ComparisonVerticle extends VerticleBase {

  private final DashboardConfig where;
  private final Buffer comparison;
  private volatile String url;

  /** Creates the verticle; {@code comparison} must not change afterwards. */
  public ComparisonVerticle(DashboardConfig where, JsonObject comparison) {
    this.where = where;
    this.comparison = comparison.toBuffer();
  }

  @Override
  public Future<?> start() {
    Router router = PageFiles.guarded(vertx, where);
    router
        .get("/comparison")
        .handler(
            request ->
                request.response().putHeader("Content-Type", "application/json").end(comparison));
    router.get().handler(PageFiles.startingAt("compare.html"));
    return new PageServer(vertx, where).start(router).onSuccess(address -> url = address);
  }

  /** Returns the page's address, once the verticle is deployed. */
  public String url() {
    return url;
  }
}
