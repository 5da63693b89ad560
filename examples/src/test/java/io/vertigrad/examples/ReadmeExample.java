package io.vertigrad.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A command of an example's README, and the output printed below it.
 *
 * <p>The command runs in its own JVM, in the repository's root, with OpenBLAS's AVX2 kernels, which
 * made the figures in the READMEs. Otherwise OpenBLAS chooses kernels by the processor, and the
 * last digits of a sum depend on the kernels.
 *
 * @param command the command in the README
 * @param output the lines of output in the README
 */
record ReadmeExample(String command, List<String> output) {

  private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
  private static final String INDENT = "    ";
  private static final long LIMIT_SECONDS = 240;
  private static final Map<String, String> MAINS =
      Map.of(
          "own-strategy", "io.vertigrad.examples.ownstrategy.BadWorker",
          "run-events", "io.vertigrad.examples.runevents.RunEvents",
          "train", "io.vertigrad.launcher.VertigradApplication");

  /** Reads the indented block that follows the line with this command. */
  static ReadmeExample of(String folder, String command) throws IOException {
    List<String> lines = Files.readAllLines(ROOT.resolve("examples/" + folder + "/README.md"));
    int at = lines.indexOf(INDENT + command);
    assertTrue(at >= 0, () -> folder + "/README.md has no line '" + command + "'");
    List<String> output =
        lines.subList(at + 1, lines.size()).stream()
            .dropWhile(line -> !line.startsWith(INDENT))
            .takeWhile(line -> line.isEmpty() || line.startsWith(INDENT))
            .filter(line -> !line.isEmpty())
            .map(line -> line.substring(INDENT.length()))
            .toList();
    assertFalse(output.isEmpty(), () -> folder + "/README.md: no output below '" + command + "'");
    return new ReadmeExample(command, output);
  }

  /** Returns true when this machine has the kernels that made the READMEs' figures. */
  static boolean sameKernels() throws IOException {
    Path processor = Path.of("/proc/cpuinfo");
    return Files.exists(processor) && Files.readString(processor).contains(" avx2");
  }

  /**
   * Runs the command.
   *
   * @param more options after those of the README
   * @return everything that it printed, standard error included
   */
  List<String> run(Path folder, String... more) throws Exception {
    List<String> words = List.of(command.split(" +"));
    List<String> java = new ArrayList<>();
    java.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    boolean train = words.get(1).equals("train");
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("-XX:Tiered"))
        .forEach(java::add);
    java.addAll(List.of("-Xmx1g", "-Dorg.bytedeco.javacpp.maxphysicalbytes=0"));
    java.add("-Dvertigrad.console=" + (train ? "INFO" : "WARN"));
    java.add("-Dvertigrad.command=" + words.get(0));
    java.addAll(List.of("-cp", System.getProperty("java.class.path"), MAINS.get(words.get(1))));
    java.addAll(words.subList(train ? 1 : 2, words.size()));
    java.addAll(List.of(more));
    Path printed = folder.resolve("printed");
    ProcessBuilder builder = new ProcessBuilder(java).directory(ROOT.toFile());
    builder.environment().put("OPENBLAS_CORETYPE", "Haswell");
    builder.redirectErrorStream(true).redirectOutput(printed.toFile());
    Process process = builder.start();
    try {
      boolean ended = process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
      assertTrue(ended, () -> command + " has not ended: " + text(printed) + threads(process));
      assertEquals(0, process.exitValue(), () -> command + ": " + text(printed));
    } finally {
      process.destroyForcibly();
    }
    try (Stream<String> lines = Files.lines(printed)) {
      return lines.toList();
    }
  }

  /** Returns the stack traces of the process's threads. */
  private static String threads(Process process) {
    String jstack = Path.of(System.getProperty("java.home"), "bin", "jstack").toString();
    try {
      Process dump = new ProcessBuilder(jstack, Long.toString(process.pid())).start();
      return new String(dump.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private static String text(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }
}
