/** The page, its bridge to the event bus, replay. It is open for its files. */
open module io.vertigrad.dashboard {
  requires transitive io.vertigrad.verticles;
  requires io.vertigrad.observability;
  requires io.vertigrad.run;
  requires io.vertigrad.strategies;
  requires io.vertx.web;
  requires org.slf4j;

  exports io.vertigrad.dashboard;
}
