package io.vertigrad.benchmarks.report;

import com.sun.management.OperatingSystemMXBean;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/**
 * The machine and the software that the numbers were measured on.
 *
 * @param cpu model name as the kernel reports it
 * @param cores processors that this JVM may use
 * @param memoryBytes physical memory
 * @param jvm name and version of the JVM
 * @param system operating system and kernel
 * @param revision git revision, {@code -dirty} when the tree differs from it
 * @param loadAverage one-minute load before the first measurement; more than a few tenths means
 *     that something else was running
 */
public record Machine(
    String cpu,
    int cores,
    long memoryBytes,
    String jvm,
    String system,
    String revision,
    double loadAverage) {

  /** Describes this machine as it is now. */
  public static Machine here() {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    return new Machine(
        cpuModel(),
        Runtime.getRuntime().availableProcessors(),
        system.getTotalMemorySize(),
        System.getProperty("java.vm.name") + " " + System.getProperty("java.vm.version"),
        System.getProperty("os.name") + " " + System.getProperty("os.version"),
        ownRevision(),
        load());
  }

  /** Returns the load average of the last minute. */
  public static double load() {
    return ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage();
  }

  public JsonObject toJson() {
    return new JsonObject()
        .put("cpu", cpu)
        .put("cores", cores)
        .put("memoryBytes", memoryBytes)
        .put("jvm", jvm)
        .put("system", system)
        .put("revision", revision)
        .put("loadAverageAtStart", loadAverage);
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%s, %d cores, %.1f GiB, %s, %s, revision %s, load %.2f",
        cpu,
        cores,
        memoryBytes / 0x1p30,
        jvm,
        system,
        revision,
        loadAverage);
  }

  private static String cpuModel() {
    try {
      return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).strip())
          .findFirst()
          .orElse(System.getProperty("os.arch"));
    } catch (IOException e) {
      return System.getProperty("os.arch");
    }
  }

  /** Returns the revision of the working copy, or that which {@code pack} has packed. */
  private static String ownRevision() {
    String packed = System.getProperty("vertigrad.benchmarks.revision", "");
    return packed.isEmpty()
        ? output("git", "describe", "--always", "--dirty", "--abbrev=12")
        : packed;
  }

  private static String output(String... command) {
    try {
      Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
      String text =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      return process.waitFor() == 0 ? text : "unknown";
    } catch (IOException e) {
      return "unknown";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "unknown";
    }
  }
}
