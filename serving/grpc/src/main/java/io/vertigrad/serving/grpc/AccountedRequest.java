package io.vertigrad.serving.grpc;

import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.internal.http.HttpServerRequestInternal;
import io.vertx.core.internal.http.HttpServerRequestWrapper;

/**
 * A request whose body passes through a check before Vert.x's gRPC server collects it, because that
 * server limits the size of one message only, not the memory of all. Belongs to its connection's
 * event loop.
 */
final class AccountedRequest extends HttpServerRequestWrapper {

  private final Call call;

  /**
   * Creates a request.
   *
   * @param request the request as it arrived
   * @param call checks each part of the body
   */
  AccountedRequest(HttpServerRequest request, Call call) {
    super((HttpServerRequestInternal) request);
    this.call = call;
  }

  @Override
  public HttpServerRequest handler(Handler<Buffer> handler) {
    super.handler(handler == null ? null : part -> call.onPart(part, handler));
    return this;
  }

  @Override
  public HttpServerRequest endHandler(Handler<Void> handler) {
    super.endHandler(handler == null ? null : end -> call.onLast(handler));
    return this;
  }
}
