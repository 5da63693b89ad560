package io.vertigrad.examples.besideverticles;

import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.http.HttpServer;
import io.vertx.core.json.JsonObject;

/** An application's own verticle: it greets over HTTP and reports the training's progress. */
final class GreetingVerticle extends VerticleBase {

  private final String events;
  private final int port;
  private JsonObject progress = new JsonObject();
  private HttpServer server;

  /**
   * Creates a greeting that follows one job.
   *
   * @param events address of the job's events
   * @param port port to listen on at loopback; 0 for any
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
