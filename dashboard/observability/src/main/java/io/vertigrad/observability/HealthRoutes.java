package io.vertigrad.observability;

import io.vertx.core.Vertx;
import io.vertx.core.internal.VertxInternal;
import io.vertx.core.json.JsonObject;
import io.vertx.core.spi.cluster.ClusterManager;
import io.vertx.ext.healthchecks.HealthChecks;
import io.vertx.ext.healthchecks.Status;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.healthchecks.HealthCheckHandler;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The paths {@code /health/live}, {@code /health/ready} and {@code /health} for both, for probes
 * that restart processes or route requests. The status is 200 when all checks of the path are up,
 * else 503; the body has the checks as JSON.
 */
final class HealthRoutes {

  private final Vertx vertx;
  private final Map<String, Supplier<Status>> live = new LinkedHashMap<>();
  private final Map<String, Supplier<Status>> ready = new LinkedHashMap<>();

  /** Creates the check of {@code /health/live}: only a blocked event loop needs a restart. */
  HealthRoutes(Vertx vertx) {
    this.vertx = vertx;
    live.put("answers", Status::OK);
  }

  /** Adds a check of {@code /health/ready}. */
  HealthRoutes ready(String name, Supplier<Status> check) {
    ready.put(name, check);
    return this;
  }

  /** Adds the paths to a router. */
  void mount(Router router) {
    Map<String, Supplier<Status>> all = new LinkedHashMap<>(live);
    all.putAll(ready);
    router.get("/health/live").handler(handler(live));
    router.get("/health/ready").handler(handler(ready));
    router.get("/health").handler(handler(all));
  }

  /** Returns whether this node is an active member of its cluster, or there is none. */
  static Status cluster(Vertx vertx) {
    JsonObject found = new JsonObject().put("clustered", vertx.isClustered());
    if (!vertx.isClustered()) {
      return status(true, found);
    }
    ClusterManager cluster = ((VertxInternal) vertx).clusterManager();
    boolean active = cluster.isActive();
    return status(active, found.put("nodes", active ? cluster.getNodes().size() : 0));
  }

  static Status status(boolean up, JsonObject found) {
    return (up ? Status.OK() : Status.KO()).setData(found);
  }

  private HealthCheckHandler handler(Map<String, Supplier<Status>> checks) {
    HealthChecks all = HealthChecks.create(vertx);
    checks.forEach((name, check) -> all.register(name, up -> up.complete(check.get())));
    return HealthCheckHandler.createWithHealthChecks(all);
  }
}
