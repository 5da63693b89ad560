package io.vertigrad.verticles.transport;

import io.vertx.core.json.JsonObject;

/** Where a process takes streams. */
record Endpoint(String host, int port) {

  static Endpoint fromJson(JsonObject json) {
    return new Endpoint(json.getString("host"), json.getInteger("port"));
  }

  JsonObject toJson() {
    return new JsonObject().put("host", host).put("port", port);
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
