package io.vertigrad.serving.grpc;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.core.internal.http.HttpServerRequestWrapper;
import java.util.function.BiConsumer;

/**
 * A request whose body passes through a check before Vert.x's gRPC server collects it, because that
 * server limits the size of one message only, not the memory of all. Belongs to its connection's
 * event loop.
 */
final class AccountedRequest extends HttpServerRequestWrapper {

  private final BiConsumer<Buffer, Handler<Buffer>> check;

  /**
   * Creates a request.
   *
   * @param request the request as it arrived
   * @param check gets each part of the body, and who takes it if it may be taken
   */
  AccountedRequest(HttpServerRequest request, BiConsumer<Buffer, Handler<Buffer>> check) {
    super((HttpServerRequestInternal) request);
    this.check = check;
  }

  @Override
  public HttpServerRequest handler(Handler<Buffer> handler) {
    super.handler(handler == null ? null : part -> check.accept(part, handler));
    return this;
  }
}
