package io.vertigrad.internal.transport;

import io.vertx.core.json.JsonObject;

/** The host and port at which a process accepts streams. */
record StreamAddress(String host, int port) {

  static StreamAddress fromJson(JsonObject json) {
    return new StreamAddress(json.getString("host"), json.getInteger("port"));
  }

  JsonObject toJson() {
    return new JsonObject().put("host", host).put("port", port);
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
