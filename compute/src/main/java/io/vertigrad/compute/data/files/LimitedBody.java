package io.vertigrad.compute.data.files;

import io.vertx.core.Future;
import io.vertx.core.Handler;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.file.AsyncFile;
import io.vertx.core.streams.WriteStream;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Writes the body of an answer to a file, up to a limit, and reports when the first byte arrives.
 *
 * <p>It is written to on an event loop; any thread may read its counters.
 */
final class LimitedBody implements WriteStream<Buffer> {

  private final Future<AsyncFile> opened;
  private final long most;
  private final AtomicLong bytes = new AtomicLong();
  private final CompletableFuture<Void> begun = new CompletableFuture<>();

  /**
   * True once the file is closed. After a refused write the pipe still calls this stream, and the
   * closed file would throw.
   */
  private boolean ended;

  /**
   * Creates a body that is written to {@code opened}, which must complete before the first write.
   */
  LimitedBody(Future<AsyncFile> opened, long most) {
    this.opened = opened;
    this.most = most;
  }

  Future<AsyncFile> opened() {
    return opened;
  }

  /** Returns the largest number of bytes that is accepted. */
  long most() {
    return most;
  }

  /** Returns how many bytes have arrived. */
  long bytes() {
    return bytes.get();
  }

  /** Completes with the first byte, or with the end of an empty body. */
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
    if (!ended) {
      opened.result().exceptionHandler(handler);
    }
    return this;
  }

  @Override
  public WriteStream<Buffer> setWriteQueueMaxSize(int bytes) {
    if (!ended) {
      opened.result().setWriteQueueMaxSize(bytes);
    }
    return this;
  }

  @Override
  public boolean writeQueueFull() {
    return !ended && opened.result().writeQueueFull();
  }

  @Override
  public WriteStream<Buffer> drainHandler(Handler<Void> handler) {
    if (!ended) {
      opened.result().drainHandler(handler);
    }
    return this;
  }

  /** Thrown when more bytes arrive than the body accepts. */
  static final class TooLongException extends Exception {

    private static final long serialVersionUID = 1L;
  }
}
