package io.vertigrad.examples.besideverticles;

import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;

/** An application's own verticle: greets over HTTP, and says how far the training is. */
final class GreetingVerticle extends VerticleBase {

  private final String events;
  private final int port;
  private JsonObject progress = new JsonObject();
  private HttpServer server;

  /**
   * A greeting that follows one job.
   *
   * @param events address of the job's events
   * @param port where it listens on loopback; 0 for any
   */
  GreetingVerticle(String events, int port) {
    this.events = events;
    this.port = port;
  }

  @Override
  public Future<?> start() {
    vertx.eventBus().<JsonObject>consumer(events, message -> follow(message.body()));
    server = vertx.createHttpServer().requestHandler(call -> call.response().end(greeting()));
    return server.listen(port, "127.0.0.1");
  }

  int actualPort() {
    return server.actualPort();
  }

  private void follow(JsonObject event) {
    if (event.getString("type").equals("workerProgress")) {
      progress = event;
    }
  }

  private String greeting() {
    return "hello; worker %s is at step %s\n"
        .formatted(progress.getValue("rank", "-"), progress.getValue("step", "-"));
  }
}
