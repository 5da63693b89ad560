package io.vertigrad.compute.data.files;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.AsyncFile;
import io.vertx.core.streams.WriteStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A file that takes the body of an answer up to a limit, and tells when the first byte has come.
 *
 * <p>Written on an event loop; what it counts may be read from any thread.
 */
final class LimitedBody implements WriteStream<Buffer> {

  private final Future<AsyncFile> opened;
  private final long most;
  private final AtomicLong bytes = new AtomicLong();
  private final CompletableFuture<Void> begun = new CompletableFuture<>();
  private boolean ended;

  /** A body that goes to {@code opened} once that is, which must be before the first write. */
  LimitedBody(Future<AsyncFile> opened, long most) {
    this.opened = opened;
    this.most = most;
  }

  Future<AsyncFile> opened() {
    return opened;
  }

  /** How many bytes it takes. */
  long most() {
    return most;
  }

  /** How many have come. */
  long bytes() {
    return bytes.get();
  }

  /** Completes with the first byte, or the end of a body that has none. */
  CompletableFuture<Void> begun() {
    return begun;
  }

  @Override
  public Future<Void> write(Buffer data) {
    begun.complete(null);
    return bytes.addAndGet(data.length()) > most
        ? Future.failedFuture(new TooLongException())
        : opened.result().write(data);
  }

  @Override
  public Future<Void> end() {
    begun.complete(null);
    ended = true;
    return opened.result().end();
  }

  @Override
  public WriteStream<Buffer> exceptionHandler(Handler<Throwable> handler) {
    opened.result().exceptionHandler(handler);
    return this;
  }

  @Override
  public WriteStream<Buffer> setWriteQueueMaxSize(int bytes) {
    opened.result().setWriteQueueMaxSize(bytes);
    return this;
  }

  @Override
  public boolean writeQueueFull() {
    // A pipe asks once more after a refused write has made it close the file.
    return !ended && opened.result().writeQueueFull();
  }

  @Override
  public WriteStream<Buffer> drainHandler(Handler<Void> handler) {
    opened.result().drainHandler(handler);
    return this;
  }

  /** More bytes came than the body takes. */
  static final class TooLongException extends Exception {

    private static final long serialVersionUID = 1L;
  }
}
