package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.file.FileSystemException;
import io.vertx.core.file.FileSystemOptions;
import io.vertx.core.file.OpenOptions;
import io.vertx.core.http.HttpMethod;
import io.vertx.core.net.ProxyOptions;
import io.vertx.core.net.ProxyType;
import io.vertx.ext.web.client.HttpResponse;
import io.vertx.ext.web.client.WebClient;
import io.vertx.ext.web.client.WebClientOptions;
import io.vertx.ext.web.codec.BodyCodec;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Downloads one address to a file with Vert.x's web client, with limits on time and size.
 *
 * <p>Data sets are opened by threads that may block and that have no Vert.x of their own, so each
 * fetch starts one and closes it. It follows redirects, and uses the proxy that is configured for
 * Java.
 *
 * @param address address to fetch
 * @param timeoutMillis limit until the answer begins, and again until its last byte
 */
record HttpFetch(URI address, long timeoutMillis) {

  private static final Logger LOG = LoggerFactory.getLogger(HttpFetch.class);
  private static final int OK = 200;
  private static final long CLOSE_SECONDS = 10;
  private static final String ADVICE =
      "check the network and the address, or name another mirror with --download URL";

  /**
   * Writes the body to {@code file}, which must not exist, and refuses more than {@code most}
   * bytes. Blocks.
   *
   * @throws DataException with the address, what was received, and what to do
   * @throws IOException when the file cannot be written
   */
  void into(Path file, long most) throws IOException {
    Vertx vertx = Vertx.vertx(small());
    try {
      fetch(vertx, file.toAbsolutePath(), most);
    } finally {
      close(vertx);
    }
  }

  private static VertxOptions small() {
    FileSystemOptions plainFiles =
        new FileSystemOptions().setClassPathResolvingEnabled(false).setFileCachingEnabled(false);
    return new VertxOptions()
        .setEventLoopPoolSize(1)
        .setWorkerPoolSize(1)
        .setInternalBlockingPoolSize(1)
        .setFileSystemOptions(plainFiles);
  }

  private void fetch(Vertx vertx, Path file, long most) throws IOException {
    OpenOptions newFile = new OpenOptions().setRead(false).setCreateNew(true);
    LimitedBody body = new LimitedBody(vertx.fileSystem().open(file.toString(), newFile), most);
    // Kept in a variable until the end, because Vert.x closes a client that is not referenced any
    // more.
    WebClient client = WebClient.create(vertx, options());
    CompletableFuture<?> done = send(client, body);
    try {
      CompletableFuture.anyOf(body.begun(), done).get(timeoutMillis, TimeUnit.MILLISECONDS);
      done.get(timeoutMillis, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      throw late(body, e);
    } catch (ExecutionException e) {
      throw failure(body, e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DataException("%s: download interrupted".formatted(address), e);
    } finally {
      client.close();
    }
  }

  private CompletableFuture<?> send(WebClient client, LimitedBody body) {
    return body.opened()
        .compose(
            open ->
                client
                    .requestAbs(HttpMethod.GET, address.toString())
                    .as(BodyCodec.pipe(body))
                    .send())
        .map(this::checked)
        .toCompletionStage()
        .toCompletableFuture();
  }

  private HttpResponse<?> checked(HttpResponse<?> response) {
    if (response.statusCode() != OK) {
      throw new DataException(
          "%s: HTTP status %s, expected 200; %s".formatted(address, response.statusCode(), ADVICE));
    }
    return response;
  }

  private WebClientOptions options() {
    WebClientOptions options = new WebClientOptions();
    ProxySelector selector = ProxySelector.getDefault();
    List<Proxy> proxies = selector == null ? List.of() : selector.select(address);
    if (!proxies.isEmpty() && proxies.get(0).address() instanceof InetSocketAddress proxy) {
      options.setProxyOptions(
          new ProxyOptions()
              .setType(
                  proxies.get(0).type() == Proxy.Type.SOCKS ? ProxyType.SOCKS5 : ProxyType.HTTP)
              .setHost(proxy.getHostString())
              .setPort(proxy.getPort()));
    }
    return options;
  }

  private DataException late(LimitedBody body, TimeoutException cause) {
    String what =
        body.begun().isDone()
            ? "not complete within %s ms, %s bytes came".formatted(timeoutMillis, body.bytes())
            : "no answer within %s ms".formatted(timeoutMillis);
    return new DataException("%s: %s; %s".formatted(address, what, ADVICE), cause);
  }

  private DataException failure(LimitedBody body, Throwable cause) throws IOException {
    if (cause instanceof DataException known) {
      return known;
    }
    if (cause instanceof FileSystemException disk) {
      throw new IOException(disk.getMessage(), disk);
    }
    if (cause instanceof LimitedBody.TooLongException) {
      return new DataException(
          "%s: sends more than %s bytes, expected fewer; %s"
              .formatted(address, body.most(), ADVICE));
    }
    String what =
        body.begun().isDone()
            ? "connection lost (%s), %s bytes came".formatted(cause.getMessage(), body.bytes())
            : "no answer (%s)".formatted(cause.getMessage());
    return new DataException("%s: %s; %s".formatted(address, what, ADVICE), cause);
  }

  /** Closes the Vert.x, which also ends a request in progress. */
  private static void close(Vertx vertx) {
    try {
      vertx.close().toCompletionStage().toCompletableFuture().get(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      LOG.warn("the download's threads did not end within {} s", CLOSE_SECONDS, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
