package io.vertigrad.launcher.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** Checks the processor's vector instructions, by which the native libraries choose their code. */
final class ProcessorCheck implements Check {

  private static final Path CPU_INFO = Path.of("/proc/cpuinfo");
  private static final List<String> OF_INTEREST =
      List.of("avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16");

  @Override
  public List<CheckResult> run() {
    int cores = Runtime.getRuntime().availableProcessors();
    Set<String> flags = flags();
    String vectors = OF_INTEREST.stream().filter(flags::contains).collect(Collectors.joining(", "));
    String found = "%s core%s, %s".formatted(cores, cores == 1 ? "" : "s", vectors);
    if (!flags.isEmpty() && !flags.contains("avx2")) {
      return List.of(
          CheckResult.fail(
              "processor",
              "%s cores, no AVX2".formatted(cores),
              "build with -Dnd4j.classifier=linux-x86_64 for a processor without AVX2"));
    }
    if (cores < 2) {
      return List.of(CheckResult.warn("processor", found, "two workers will share one core"));
    }
    return List.of(CheckResult.ok("processor", found));
  }

  private static Set<String> flags() {
    try {
      return Files.lines(CPU_INFO)
          .filter(line -> line.startsWith("flags"))
          .findFirst()
          .map(line -> Set.of(line.substring(line.indexOf(':') + 1).strip().split("\\s+")))
          .orElse(Set.of());
    } catch (IOException e) {
      return Set.of();
    }
  }
}
