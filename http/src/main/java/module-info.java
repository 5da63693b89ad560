/** What every HTTP port of a job does before it answers: names, connections, tokens. */
module io.vertigrad.http {
  requires transitive io.vertx.core;
  requires io.netty.common;
  requires io.netty.transport;

  exports io.vertigrad.http;
}
