package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodySubscriber;
import java.net.http.HttpResponse.BodySubscribers;
import java.net.http.HttpResponse.ResponseInfo;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;

/**
 * Downloads one address to a file, with limits on time and size. It follows redirects, as many as
 * Java's client does, and uses the HTTP proxy that is configured for Java.
 *
 * @param address address to fetch
 * @param timeoutMillis limit until the answer begins, and again until its last byte
 */
record HttpFetch(URI address, long timeoutMillis) {

  private static final int OK = 200;
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
    refuseSocks();
    HttpClient client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .followRedirects(HttpClient.Redirect.ALWAYS)
            .build();
    try (OutputStream opened = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW)) {
      Body body = new Body(opened, most);
      CompletableFuture<?> done =
          client.sendAsync(HttpRequest.newBuilder(address).build(), body::of);
      try {
        CompletableFuture.anyOf(body.begun, done).get(timeoutMillis, TimeUnit.MILLISECONDS);
        done.get(timeoutMillis, TimeUnit.MILLISECONDS);
      } catch (TimeoutException e) {
        throw late(body, e);
      } catch (ExecutionException e) {
        throw failure(body, e.getCause());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new DataException("%s: download interrupted".formatted(address), e);
      } finally {
        done.cancel(true);
      }
    }
  }

  /** Java's client would silently leave out such a proxy. */
  private void refuseSocks() {
    ProxySelector selector = ProxySelector.getDefault();
    List<Proxy> proxies = selector == null ? List.of() : selector.select(address);
    if (!proxies.isEmpty() && proxies.get(0).type() == Proxy.Type.SOCKS) {
      throw new DataException(
          "%s: Java is to go through a SOCKS proxy (socksProxyHost), expected an HTTP proxy"
                  .formatted(address)
              + " (http.proxyHost, https.proxyHost) or none for downloads");
    }
  }

  /** Writes the body of an answer, up to a limit; used by one thread of the client at a time. */
  private final class Body {

    private final OutputStream file;
    private final long most;
    private final CompletableFuture<Void> begun = new CompletableFuture<>();
    private volatile long bytes;

    Body(OutputStream file, long most) {
      this.file = file;
      this.most = most;
    }

    BodySubscriber<Void> of(ResponseInfo answer) {
      if (answer.statusCode() != OK) {
        throw new DataException(
            "%s: HTTP status %s, expected 200; %s".formatted(address, answer.statusCode(), ADVICE));
      }
      return BodySubscribers.ofByteArrayConsumer(this::write);
    }

    private void write(Optional<byte[]> part) {
      byte[] data = part.orElse(new byte[0]);
      bytes += data.length;
      begun.complete(null);
      if (bytes > most) {
        throw new DataException(
            "%s: sends more than %s bytes, expected fewer; %s".formatted(address, most, ADVICE));
      }
      try {
        file.write(data);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private DataException late(Body body, TimeoutException cause) {
    String what =
        body.begun.isDone()
            ? "not complete within %s ms, %s bytes came".formatted(timeoutMillis, body.bytes)
            : "no answer within %s ms".formatted(timeoutMillis);
    return new DataException("%s: %s; %s".formatted(address, what, ADVICE), cause);
  }

  private DataException failure(Body body, Throwable failure) throws IOException {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof DataException known) {
        return known;
      }
      if (cause instanceof UncheckedIOException disk) {
        throw disk.getCause();
      }
    }
    String what =
        body.begun.isDone()
            ? "connection lost (%s), %s bytes came".formatted(reason(failure), body.bytes)
            : "no answer (%s)".formatted(reason(failure));
    return new DataException("%s: %s; %s".formatted(address, what, ADVICE), failure);
  }

  /** Returns why a request failed; some failures of connections have no message. */
  private static String reason(Throwable failure) {
    if (causes(failure).anyMatch(UnresolvedAddressException.class::isInstance)) {
      return "this machine does not know the host's name";
    }
    return causes(failure)
        .map(Throwable::getMessage)
        .filter(Objects::nonNull)
        .findFirst()
        .orElse(
            causes(failure).anyMatch(ConnectException.class::isInstance)
                ? "Connection refused"
                : failure.toString());
  }

  private static Stream<Throwable> causes(Throwable failure) {
    return Stream.iterate(failure, Objects::nonNull, Throwable::getCause);
  }
}
