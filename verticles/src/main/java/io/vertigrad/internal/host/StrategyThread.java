package io.vertigrad.internal.host;

import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/** A thread that runs the work of a strategy piece by piece, in order. Any thread may call it. */
public final class StrategyThread {

  private final ExecutorService executor;

  /** Creates a thread of this name, which starts with its first piece of work. */
  public StrategyThread(String name) {
    executor = executor(name);
  }

  /** Returns an executor with one daemon thread of this name. */
  static ExecutorService executor(String name) {
    return Executors.newSingleThreadExecutor(
        work -> {
          Thread own = new Thread(work, name);
          own.setDaemon(true);
          own.setContextClassLoader(StrategyThread.class.getClassLoader());
          return own;
        });
  }

  /** Runs work after all earlier work. Completes with its result; fails if the thread has ended. */
  public <T> Future<T> call(Callable<Future<T>> work) {
    Promise<T> done = Promise.promise();
    try {
      executor.execute(
          () -> {
            try {
              work.call().onComplete(done);
            } catch (Exception | Error e) {
              done.fail(e);
            }
          });
    } catch (RejectedExecutionException ended) {
      done.fail(ended);
    }
    return done.future();
  }

  /** Ends the thread after all earlier work. */
  public void end() {
    executor.shutdown();
  }
}
