package io.vertigrad.dashboard;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.http.AccessToken;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.util.Set;

/** Passes control requests that carry the right token on to the coordinator. */
final class JobControl {

  private static final String DRAIN = "drain";
  private static final Set<String> ACTIONS = Set.of("checkpoint", "pause", "resume", "stop", DRAIN);

  private final Vertx vertx;
  private final Addresses addresses;
  private final AccessToken token;

  public JobControl(Vertx vertx, Addresses addresses, String token) {
    this.vertx = vertx;
    this.addresses = addresses;
    this.token = new AccessToken(token);
  }

  Future<JsonObject> answer(JsonObject request) {
    if (!token.is(request.getValue("token"))) {
      return Future.succeededFuture(
          MetricsRequestHandler.refused(
              "wrong token: open the address with #token= that the run printed"));
    }
    Object action = request.getValue("action");
    if (!(action instanceof String name) || !ACTIONS.contains(name)) {
      return Future.succeededFuture(
          MetricsRequestHandler.refused(
              "expected action checkpoint, pause, resume, stop or drain"));
    }
    JsonObject asked = new JsonObject().put("request", name);
    if (name.equals(DRAIN)) {
      asked.put("member", String.valueOf(request.getValue("member", "")));
    }
    return vertx
        .eventBus()
        .<JsonObject>request(addresses.coordinator(), asked)
        .map(answer -> answer.body());
  }
}
