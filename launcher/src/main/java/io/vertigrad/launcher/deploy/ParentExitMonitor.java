package io.vertigrad.launcher.deploy;

import java.io.IOException;
import java.io.InputStream;

/**
 * Notices when this JVM's parent has ended, which holds our standard input. One that ends in good
 * order has told its members before; one that was killed leaves a run that can be resumed, so that
 * its members go on, and wait for the next coordinator for as long as for one that is silent.
 */
public final class ParentExitMonitor {

  private ParentExitMonitor() {}

  /**
   * From now on.
   *
   * @param ended called once, on a thread of its own
   */
  public static void start(Runnable ended) {
    Thread thread = new Thread(() -> watch(ended), "parent-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static void watch(Runnable ended) {
    try {
      InputStream parent = System.in;
      while (parent.read() >= 0) {
        Thread.onSpinWait();
      }
    } catch (IOException closed) {
      // A broken pipe says the same as its end.
    }
    ended.run();
  }
}
