package io.vertigrad.dashboard;

import io.vertx.core.Future;
import io.vertx.core.MultiMap;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpClient;
import io.vertx.core.http.HttpClientOptions;
import io.vertx.core.http.HttpClientRequest;
import io.vertx.core.http.HttpClientResponse;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.http.HttpServerRequest;
import io.vertx.core.http.HttpServerResponse;
import io.vertx.core.http.PoolOptions;
import io.vertx.core.http.RequestOptions;
import io.vertx.core.net.NetSocket;
import io.vertx.ext.web.RoutingContext;
import java.net.URI;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Answers requests with what the server of a run's page answers, its socket included. So a browser
 * needs the port of the list only. The caller has checked the request: neither its {@code Host} nor
 * its {@code Origin} is passed on, and no cookie or password of another program under the same
 * name. Belongs to one event loop.
 */
final class PageProxy {

  private static final int CONNECT_MILLIS = 5_000;
  private static final int KEEP_SECONDS = 15;

  /** A browser without WebSockets keeps one request waiting. */
  private static final int MOST_CONNECTIONS = 512;

  private static final int SWITCHED = 101;

  private static final List<CharSequence> ASKED =
      List.of(
          HttpHeaders.ACCEPT,
          HttpHeaders.ACCEPT_ENCODING,
          HttpHeaders.CONTENT_TYPE,
          HttpHeaders.IF_MODIFIED_SINCE,
          HttpHeaders.IF_NONE_MATCH);

  private static final List<CharSequence> UPGRADE =
      List.of(
          HttpHeaders.UPGRADE,
          HttpHeaders.CONNECTION,
          "Sec-WebSocket-Key",
          "Sec-WebSocket-Version",
          "Sec-WebSocket-Extensions");

  /** Headers of one connection; the others are passed on. */
  private static final Set<String> OF_CONNECTION =
      Set.of("connection", "keep-alive", "transfer-encoding", "upgrade", "trailer");

  private final HttpClient client;

  PageProxy(Vertx vertx) {
    client =
        vertx.createHttpClient(
            new HttpClientOptions().setKeepAliveTimeout(KEEP_SECONDS),
            new PoolOptions().setHttp1MaxSize(MOST_CONNECTIONS));
  }

  /**
   * Passes a request on.
   *
   * @param page address of a page, such as {@code http://127.0.0.1:8350/}
   * @param path what is asked of it, with the query: {@code /job}
   * @param gone completes when nobody waits for the answer
   * @return fails if the page's server does not answer; the answer has not begun then
   */
  Future<Void> pass(RoutingContext context, String page, String path, Future<Void> gone) {
    HttpServerRequest request = context.request();
    URI server = URI.create(page);
    RequestOptions asked =
        new RequestOptions()
            .setMethod(request.method())
            .setHost(server.getHost().replaceAll("[\\[\\]]", ""))
            .setPort(server.getPort())
            .setURI(path)
            .setConnectTimeout(CONNECT_MILLIS);
    boolean upgrade = request.headers().contains(HttpHeaders.UPGRADE, "websocket", true);
    return client
        .request(asked)
        .compose(
            inner -> {
              gone.onSuccess(closed -> inner.reset());
              // The answer, or what is piped, reports a connection that breaks.
              inner.exceptionHandler(broken -> {});
              inner.putHeader(HttpHeaders.HOST, server.getAuthority());
              copy(request.headers(), inner.headers(), ASKED);
              if (upgrade) {
                copy(request.headers(), inner.headers(), UPGRADE);
              }
              return upgrade ? inner.connect() : send(inner, context.body().buffer());
            })
        .map(
            answer -> {
              answer(request, answer);
              return null;
            });
  }

  private static Future<HttpClientResponse> send(HttpClientRequest inner, Buffer body) {
    return body == null ? inner.send() : inner.send(body);
  }

  private static void copy(MultiMap from, MultiMap to, List<CharSequence> names) {
    for (CharSequence name : names) {
      String value = from.get(name);
      if (value != null) {
        to.set(name, value);
      }
    }
  }

  private static void answer(HttpServerRequest request, HttpClientResponse answer) {
    HttpServerResponse response = request.response();
    if (response.closed()) {
      answer.request().reset();
      return;
    }
    response.setStatusCode(answer.statusCode());
    boolean switched = answer.statusCode() == SWITCHED;
    answer
        .headers()
        .forEach(
            (name, value) -> {
              if (switched || !OF_CONNECTION.contains(name.toLowerCase(Locale.ROOT))) {
                response.putHeader(name, value);
              }
            });
    if (switched) {
      connect(request, answer.netSocket());
    } else {
      response.setChunked(answer.headers().contains(HttpHeaders.TRANSFER_ENCODING));
      answer.pipeTo(response).onFailure(broken -> request.connection().close());
    }
  }

  /** Joins both sockets; each closes the other. */
  private static void connect(HttpServerRequest request, NetSocket inner) {
    inner.pause();
    request
        .toNetSocket()
        .timeout(CONNECT_MILLIS, TimeUnit.MILLISECONDS)
        .onSuccess(
            outer -> {
              outer.pipeTo(inner).onComplete(ended -> inner.close());
              inner.pipeTo(outer).onComplete(ended -> outer.close());
            })
        .onFailure(broken -> inner.close());
  }
}
