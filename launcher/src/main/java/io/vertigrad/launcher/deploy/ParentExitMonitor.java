package io.vertigrad.launcher.deploy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Notices when this JVM's parent has ended: the parent holds the other end of standard input. A
 * parent that ends in good order has released its members before. A killed one leaves a run that
 * can be resumed. Its members therefore continue and wait for the next coordinator, as long as for
 * a silent one.
 */
public final class ParentExitMonitor {

  private final CompletableFuture<Optional<String>> line = new CompletableFuture<>();

  private ParentExitMonitor() {}

  /**
   * Starts monitoring.
   *
   * @param ended called once, on a separate thread, when the parent has ended
   */
  public static ParentExitMonitor start(Runnable ended) {
    ParentExitMonitor monitor = new ParentExitMonitor();
    Thread thread = new Thread(() -> monitor.watch(ended), "parent-watch");
    thread.setDaemon(true);
    thread.start();
    return monitor;
  }

  /** Waits for the first line that the parent writes; empty if it ends first. */
  public Optional<String> awaitLine() {
    return line.join();
  }

  private void watch(Runnable ended) {
    try {
      BufferedReader parent =
          new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      String said = parent.readLine();
      line.complete(Optional.ofNullable(said));
      while (said != null) {
        said = parent.readLine();
      }
    } catch (IOException closed) {
      // A broken pipe means the same as the end of the input.
    }
    line.complete(Optional.empty());
    ended.run();
  }
}
