package io.vertigrad.benchmarks.gpu;

import io.vertigrad.benchmarks.report.Machine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What a reader of the table must know about the machine and the software. */
final class SittingFacts {

  private static final String GPU = "name,compute_cap,driver_version,memory.total";
  private static final Pattern CUDA = Pattern.compile("CUDA Version: *([0-9.]+)");

  /** Jars of the class path whose versions matter, without their classifiers. */
  private static final Pattern LIBRARY =
      Pattern.compile("(pytorch|cuda|openblas|javacpp|pytorch-native-[a-z0-9]+)-([0-9].*?)\\.jar");

  private SittingFacts() {}

  /** Returns the facts in the order of the table. */
  static Map<String, String> find(GpuCheckOptions options, Peers peers) throws IOException {
    Machine machine = Machine.here();
    Map<String, String> facts = new LinkedHashMap<>();
    facts.put("date", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
    facts.put("revision", machine.revision());
    facts.put("device", options.device().toString());
    if (options.device().gpu()) {
      facts.put(
          "GPU, compute capability, driver, memory",
          Sitting.query("--query-gpu=" + GPU, "--format=csv,noheader")
              .orElse("unknown: no nvidia-smi"));
      facts.put(
          "CUDA of the driver", Sitting.query().flatMap(SittingFacts::cuda).orElse("unknown"));
    }
    facts.put("libraries", libraries(System.getProperty("java.class.path")));
    facts.put("libraries of CUDA", cudaLibraries(options.check().resolve("cuda")));
    facts.put("PyTorch", peers.toString());
    facts.put("Java", machine.jvm());
    facts.put(
        "machine",
        String.format(
            Locale.ROOT,
            "%s, %d processors, %s, load %.2f at the start",
            machine.cpu(),
            machine.cores(),
            machine.system(),
            machine.loadAverage()));
    return facts;
  }

  /** Returns the versions in the names of jars: {@code cuda 13.1-9.19-1.5.13, ...}. */
  static String libraries(String classPath) {
    return Arrays.stream(classPath.split(":"))
        .map(entry -> Path.of(entry).getFileName())
        .filter(name -> name != null)
        .map(name -> LIBRARY.matcher(name.toString()))
        .filter(Matcher::matches)
        .map(found -> found.group(1) + " " + found.group(2))
        .distinct()
        .sorted()
        .collect(Collectors.joining(", "));
  }

  /** Returns the archives that {@code pack} took CUDA's libraries from. */
  private static String cudaLibraries(Path list) throws IOException {
    return Files.exists(list) ? String.join(", ", Files.readAllLines(list)) : "of the machine";
  }

  private static Optional<String> cuda(String text) {
    Matcher found = CUDA.matcher(text);
    return found.find() ? Optional.of(found.group(1)) : Optional.empty();
  }
}
