package io.vertigrad.benchmarks.process;

import com.sun.management.GarbageCollectionNotificationInfo;
import io.vertx.core.json.JsonObject;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.concurrent.atomic.AtomicLong;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/**
 * Measures the memory use of this process: the heap in use after each collection, which holds the
 * live objects only.
 */
public final class HeapWatch {

  private final AtomicLong mostAfterCollection = new AtomicLong();

  /** Starts to listen to every collector. */
  public HeapWatch() {
    for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
      ((NotificationEmitter) bean).addNotificationListener(this::collected, null, null);
    }
  }

  /** Resets the largest heap seen. */
  public void reset() {
    System.gc();
    mostAfterCollection.set(0);
  }

  /**
   * Returns the bytes in use now, after a full collection, and the most after any collection since
   * the last reset.
   */
  public JsonObject report() {
    System.gc();
    long used = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
    long direct =
        ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
            .mapToLong(BufferPoolMXBean::getMemoryUsed)
            .sum();
    return new JsonObject()
        .put("heapBytes", used)
        .put("mostHeapBytes", Math.max(used, mostAfterCollection.get()))
        .put("directBytes", direct);
  }

  private void collected(Notification notification, Object handback) {
    if (notification.getUserData() instanceof CompositeData data) {
      long used =
          GarbageCollectionNotificationInfo.from(data)
              .getGcInfo()
              .getMemoryUsageAfterGc()
              .entrySet()
              .stream()
              .filter(pool -> isHeap(pool.getKey()))
              .map(java.util.Map.Entry::getValue)
              .mapToLong(MemoryUsage::getUsed)
              .sum();
      mostAfterCollection.accumulateAndGet(used, Math::max);
    }
  }

  private static boolean isHeap(String pool) {
    return pool.startsWith("PS ") || pool.startsWith("G1 ");
  }
}
