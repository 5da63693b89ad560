package io.vertigrad.launcher.doctor;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.Locale;

/** Checks that the heap leaves enough memory outside it for the networks. */
final class MemoryCheck implements Check {

  private static final long MIB = 1L << 20;
  private static final long LEAST_MIB = 2_048;

  private final long machineMib;
  private final long heapMib;

  MemoryCheck() {
    this(
        ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getTotalMemorySize() / MIB,
        Runtime.getRuntime().maxMemory() / MIB);
  }

  /** Creates the check; {@code machineMib} is the container's limit if there is one. */
  MemoryCheck(long machineMib, long heapMib) {
    this.machineMib = machineMib;
    this.heapMib = heapMib;
  }

  @Override
  public List<CheckResult> run() {
    String found =
        String.format(
            Locale.ROOT,
            "%,d MiB for this machine or container, heap at most %,d MiB",
            machineMib,
            heapMib);
    if (machineMib < LEAST_MIB) {
      return List.of(
          CheckResult.warn("memory", found, "give it 2 GiB or more, or train with fewer workers"));
    }
    if (heapMib > machineMib * 3 / 4) {
      return List.of(
          CheckResult.warn(
              "memory",
              found,
              "networks live outside the heap: set VERTIGRAD_JAVA_OPTS=-Xmx%sm"
                  .formatted(machineMib / 2)));
    }
    return List.of(CheckResult.ok("memory", found));
  }
}
