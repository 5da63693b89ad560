package io.vertigrad.engine.dl4j;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/**
 * The instruction sets of this machine's processor, as Linux lists them.
 *
 * @param flags for example {@code avx2}; empty if there is no such list
 */
record Processor(Set<String> flags) {

  private static final Path LIST = Path.of("/proc/cpuinfo");
  private static final List<String> SKYLAKE_X =
      List.of("avx512f", "avx512dq", "avx512bw", "avx512vl");

  Processor {
    flags = Set.copyOf(flags);
  }

  static Processor local() {
    try {
      return parse(Files.readAllLines(LIST));
    } catch (IOException e) {
      return new Processor(Set.of());
    }
  }

  static Processor parse(List<String> lines) {
    return lines.stream()
        .filter(line -> line.startsWith("flags"))
        .findFirst()
        .map(line -> line.substring(line.indexOf(':') + 1).trim().split("\\s+"))
        .map(flags -> new Processor(Set.of(flags)))
        .orElseGet(() -> new Processor(Set.of()));
  }

  /**
   * Returns the name of the OpenBLAS kernels to use. OpenBLAS 0.3.19 would fall back to SSE on
   * processors that are newer than it.
   *
   * @return null to leave the choice to OpenBLAS
   */
  String openBlasCore() {
    if (flags.containsAll(SKYLAKE_X)) {
      return "SkylakeX";
    }
    return flags.contains("avx2") ? "Haswell" : null;
  }
}
