package io.vertigrad.launcher.deploy;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/**
 * Notices when this JVM's parent has ended, which holds our standard input. One that ends in good
 * order has told its members before; one that was killed leaves a run that can be resumed, so that
 * its members go on, and wait for the next coordinator for as long as for one that is silent.
 */
public final class ParentExitMonitor {

  private final CompletableFuture<Optional<String>> line = new CompletableFuture<>();

  private ParentExitMonitor() {}

  /**
   * From now on.
   *
   * @param ended called once, on a thread of its own, when the parent has ended after it has told
   *     something, or without
   */
  public static ParentExitMonitor start(Runnable ended) {
    ParentExitMonitor monitor = new ParentExitMonitor();
    Thread thread = new Thread(() -> monitor.watch(ended), "parent-watch");
    thread.setDaemon(true);
    thread.start();
    return monitor;
  }

  /** Waits for the first line that the parent writes; empty if it ends before. */
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
      // A broken pipe says the same as its end.
    }
    line.complete(Optional.empty());
    ended.run();
  }
}
