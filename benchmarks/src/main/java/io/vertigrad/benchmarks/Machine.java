package io.vertigrad.benchmarks;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a result was measured on. */
final class Machine {

  private Machine() {}

  static JsonObject describe() {
    return new JsonObject()
        .put("processor", processor())
        .put("cores", Runtime.getRuntime().availableProcessors())
        .put("java", Runtime.version().toString())
        .put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
  }

  private static String processor() {
    try {
      return Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
          .filter(line -> line.startsWith("model name"))
          .map(line -> line.substring(line.indexOf(':') + 1).trim())
          .findFirst()
          .orElse("unknown");
    } catch (IOException e) {
      return "unknown";
    }
  }
}
