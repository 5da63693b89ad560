package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * One GET to a file, with limits on time and size.
 *
 * @param address what to fetch
 * @param timeoutMillis until the answer begins, and again until its last byte
 */
record HttpFetch(URI address, long timeoutMillis) {

  private static final int CHUNK_BYTES = 1 << 16;
  private static final int OK = 200;
  private static final String ADVICE =
      "check the network and the address, or name another mirror with --download URL";

  /** Writes the body to {@code file}, which must not exist, and refuses more than {@code most}. */
  void into(Path file, long most) throws IOException {
    HttpResponse<InputStream> response = send();
    CompletableFuture<Void> limit =
        new CompletableFuture<Void>().orTimeout(timeoutMillis, TimeUnit.MILLISECONDS);
    try (InputStream body = response.body();
        OutputStream out = Files.newOutputStream(file, StandardOpenOption.CREATE_NEW)) {
      limit.whenComplete((done, timeout) -> abort(timeout, body));
      if (response.statusCode() != OK) {
        throw new DataException(
            "%s: HTTP status %d, expected 200; %s"
                .formatted(address, response.statusCode(), ADVICE));
      }
      copy(body, out, most, limit);
    } finally {
      limit.complete(null);
    }
  }

  private HttpResponse<InputStream> send() {
    Duration timeout = Duration.ofMillis(timeoutMillis);
    HttpClient client =
        HttpClient.newBuilder()
            .followRedirects(HttpClient.Redirect.NORMAL)
            .connectTimeout(timeout)
            .build();
    HttpRequest request = HttpRequest.newBuilder(address).timeout(timeout).build();
    try {
      return client.send(request, HttpResponse.BodyHandlers.ofInputStream());
    } catch (IOException e) {
      throw new DataException("%s: no answer (%s); %s".formatted(address, e, ADVICE), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new DataException("%s: download interrupted".formatted(address), e);
    }
  }

  private void copy(InputStream body, OutputStream out, long most, CompletableFuture<Void> limit)
      throws IOException {
    byte[] chunk = new byte[CHUNK_BYTES];
    long total = 0;
    for (int read = read(body, chunk, total, limit);
        read >= 0;
        read = read(body, chunk, total, limit)) {
      total += read;
      if (total > most) {
        throw new DataException(
            "%s: sends more than %d bytes, expected fewer; %s".formatted(address, most, ADVICE));
      }
      out.write(chunk, 0, read);
    }
  }

  /** Reads on; tells an error of the network from one of the disk. */
  private int read(InputStream body, byte[] chunk, long total, CompletableFuture<Void> limit) {
    try {
      int read = body.read(chunk);
      // A body closed by the time limit may look like one that has ended.
      if (read < 0 && limit.isCompletedExceptionally()) {
        throw new IOException("closed");
      }
      return read;
    } catch (IOException e) {
      String cause =
          limit.isCompletedExceptionally()
              ? "not complete within %d ms".formatted(timeoutMillis)
              : "connection lost (%s)".formatted(e.getMessage());
      throw new DataException(
          "%s: %s, %d bytes came; %s".formatted(address, cause, total, ADVICE), e);
    }
  }

  private static void abort(Throwable timeout, InputStream body) {
    if (timeout != null) {
      try {
        body.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
