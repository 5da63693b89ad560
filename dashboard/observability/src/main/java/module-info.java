/**
 * Meters, traces and health of jobs and their members. OpenTelemetry's SDK is the application's.
 */
module io.vertigrad.observability {
  requires transitive io.vertigrad.verticles;
  requires transitive io.vertigrad.run;
  requires transitive io.vertigrad.http;
  requires transitive io.vertx.web;
  requires transitive micrometer.core;
  requires transitive io.opentelemetry.api;
  requires io.opentelemetry.context;
  requires io.vertx.healthcheck;
  requires micrometer.registry.prometheus;
  requires org.slf4j;

  exports io.vertigrad.observability;
}
