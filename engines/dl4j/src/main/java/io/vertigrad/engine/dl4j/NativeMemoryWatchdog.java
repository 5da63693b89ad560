package io.vertigrad.engine.dl4j;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.bytedeco.javacpp.Pointer;
import org.nd4j.linalg.api.memory.MemoryWorkspaceManager;
import org.nd4j.linalg.factory.Nd4j;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Calls the garbage collector when this process holds too much physical memory, or has closed a
 * large model.
 *
 * <p>ND4J frees native memory only when the collector finds the array that owned it. JavaCPP's own
 * limit does the same but measures at every allocation, so it is switched off.
 */
final class NativeMemoryWatchdog {

  private static final Logger LOG = LoggerFactory.getLogger(NativeMemoryWatchdog.class);
  private static final long PERIOD_SECONDS = 5;

  /** Number of parameters from which closing a model calls the collector: 32 MiB of floats. */
  private static final int LARGE_MODEL = 8 << 20;

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

  /**
   * Frees the workspaces of the calling thread when it closes a model. ND4J's own method always
   * calls the collector, too, which takes up to half a second of a process that starts or ends.
   *
   * @param parameters number of the model's parameters
   */
  static void freeWorkspaces(int parameters) {
    MemoryWorkspaceManager manager = Nd4j.getWorkspaceManager();
    manager.getAllWorkspacesForCurrentThread().forEach(manager::destroyWorkspace);
    if (parameters >= LARGE_MODEL) {
      System.gc();
    }
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
