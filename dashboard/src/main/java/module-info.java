/** The page, its bridge to the event bus, Prometheus, health, replay. It is open for its files. */
open module io.vertigrad.dashboard {
  requires transitive io.vertigrad.verticles;
  requires io.vertx.healthcheck;
  requires io.vertx.web;
  requires micrometer.core;
  requires micrometer.registry.prometheus;
  requires org.slf4j;

  exports io.vertigrad.dashboard;
}
