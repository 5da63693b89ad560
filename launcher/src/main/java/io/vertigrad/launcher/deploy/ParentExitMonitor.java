package io.vertigrad.launcher.deploy;

import java.io.IOException;
import java.io.InputStream;

/** Ends this JVM when its parent ends, however it ends: the parent holds our standard input. */
public final class ParentExitMonitor {

  private ParentExitMonitor() {}

  /** From now on; shutdown hooks run. */
  public static void start() {
    Thread thread = new Thread(ParentExitMonitor::watch, "parent-watch");
    thread.setDaemon(true);
    thread.start();
  }

  private static void watch() {
    try {
      InputStream parent = System.in;
      while (parent.read() >= 0) {
        Thread.onSpinWait();
      }
    } catch (IOException closed) {
      // A broken pipe says the same as its end.
    }
    System.exit(0);
  }
}
