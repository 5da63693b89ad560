package io.vertigrad.benchmarks;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * Milliseconds of one gradient step (forward and backward, no update) on one thread: DL4J as it
 * comes against the same network in Vertigrad's engine.
 *
 * <p>Every figure comes from a JVM of its own, because either's settings hold for a whole process.
 * Run {@code benchmarks/run ComputeBenchmark [file.json]}.
 */
public final class ComputeBenchmark {

  private static final long LIMIT_MINUTES = 5;
  private static final Path DEFAULT_RESULT = Path.of("benchmarks/target/compute.json");
  private static final List<GradientCase> CASES =
      List.of(
          new GradientCase("convnet", 128),
          new GradientCase("mlp", 64),
          new GradientCase("resnet20", 128));

  private ComputeBenchmark() {}

  /**
   * Measures, prints and writes.
   *
   * @param arguments optionally the file to write
   */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    Path result = arguments.length > 0 ? Path.of(arguments[0]) : DEFAULT_RESULT;
    JsonArray rows = new JsonArray();
    System.out.printf("%-10s %6s %12s %12s %7s%n", "model", "batch", "DL4J ms", "ours ms", "ratio");
    for (GradientCase measured : CASES) {
      double stock = inOwnProcess("stock", measured);
      double tuned = inOwnProcess("tuned", measured);
      System.out.printf(
          "%-10s %6d %12.2f %12.2f %6.1fx%n",
          measured.model(), measured.batch(), stock, tuned, stock / tuned);
      rows.add(
          new JsonObject()
              .put("model", measured.model())
              .put("batch", measured.batch())
              .put("stockMillis", stock)
              .put("tunedMillis", tuned));
    }
    JsonObject report = new JsonObject().put("machine", Machine.describe()).put("steps", rows);
    Files.createDirectories(result.toAbsolutePath().getParent());
    Files.writeString(result, report.encodePrettily());
    System.out.println("written to " + result);
  }

  private static double inOwnProcess(String kind, GradientCase measured)
      throws IOException, InterruptedException {
    ProcessBuilder command =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xmx2g",
            "-cp",
            System.getProperty("java.class.path"),
            GradientStepTimer.class.getName(),
            kind,
            measured.model(),
            Integer.toString(measured.batch()));
    command.environment().put("OMP_NUM_THREADS", "1");
    command.redirectError(ProcessBuilder.Redirect.DISCARD);
    Process process = command.start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (!process.waitFor(LIMIT_MINUTES, TimeUnit.MINUTES) || process.exitValue() != 0) {
      process.destroyForcibly();
      throw new IOException("%s %s: no result in\n%s".formatted(kind, measured, output));
    }
    return output
        .lines()
        .filter(line -> line.startsWith(GradientStepTimer.RESULT))
        .mapToDouble(line -> Double.parseDouble(line.substring(GradientStepTimer.RESULT.length())))
        .findFirst()
        .orElseThrow(() -> new IOException("no result in\n" + output));
  }
}
