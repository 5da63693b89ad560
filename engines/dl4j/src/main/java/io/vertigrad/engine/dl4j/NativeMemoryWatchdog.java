package io.vertigrad.engine.dl4j;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the garbage collector when this process holds too much physical memory.
 *
 * <p>ND4J frees native memory only when the collector finds the array that owned it. JavaCPP's own
 * limit does the same but measures at every allocation, so it is switched off.
 */
final class NativeMemoryWatchdog {

  private static final Logger LOG = LoggerFactory.getLogger(NativeMemoryWatchdog.class);
  private static final long PERIOD_SECONDS = 5;

  private NativeMemoryWatchdog() {}

  static void start() {
    ScheduledExecutorService clock =
        Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "vertigrad-native-memory");
              thread.setDaemon(true);
              return thread;
            });
    long limit = Pointer.totalPhysicalBytes() / 2;
    clock.scheduleWithFixedDelay(
        () -> check(limit), PERIOD_SECONDS, PERIOD_SECONDS, TimeUnit.SECONDS);
  }

  private static void check(long limit) {
    long held = Pointer.physicalBytes();
    if (held > limit) {
      LOG.info(
          "dl4j holds {} MiB, limit {} MiB: calling the garbage collector",
          held >> 20,
          limit >> 20);
      System.gc();
    }
  }
}
