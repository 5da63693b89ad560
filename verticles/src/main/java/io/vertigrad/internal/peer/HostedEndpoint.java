package io.vertigrad.internal.peer;

import io.vertigrad.internal.transport.EndpointVerticle;
import io.vertigrad.internal.transport.FrameEndpoint;
import io.vertx.core.Context;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.Vertx;
import java.util.concurrent.Callable;

/**
 * A endpoint at an address, on an event loop of its own, for a thread that is none; it lives as
 * long as that thread wants, and is no deployment that closing Vert.x would end first. Any thread.
 */
public final class HostedEndpoint {

  private final Context context;
  private final EndpointVerticle verticle;

  public HostedEndpoint(Vertx vertx, String address, FrameEndpoint endpoint) {
    this.context = vertx.getOrCreateContext();
    this.verticle = new EndpointVerticle(address, endpoint);
  }

  /** Begins to take frames. */
  public Future<Void> open() {
    return onContext(() -> verticle.deploy(context));
  }

  /** Ends every wait. */
  public Future<Void> close() {
    return onContext(() -> verticle.undeploy(context));
  }

  private Future<Void> onContext(Callable<Future<?>> action) {
    Promise<Void> done = Promise.promise();
    context.runOnContext(
        go -> {
          try {
            action.call().<Void>mapEmpty().onComplete(done);
          } catch (Exception e) {
            done.fail(e);
          }
        });
    return done.future();
  }
}
