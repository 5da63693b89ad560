package io.vertigrad.benchmarks.pipeline;

import io.vertigrad.benchmarks.process.TrainCommandLine;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Measures the samples per second of 2 and 4 stages against the whole model in one worker, and how
 * a stage spends its time. Then it trains a model under a memory limit that the stages fit into and
 * the whole model does not.
 */
public final class PipelineBenchmark implements Benchmark {

  private static final int MICRO_BATCHES = 8;
  private static final JsonObject DIGITS =
      new JsonObject().put("name", "digits").put("train", 4_000);
  private static final long LIMIT_BYTES = 1_600L << 20;

  /**
   * Java's heap is part of the limit; native memory for parameters and activations uses the rest.
   */
  private static final String HEAP = "-Xmx600m -XX:ErrorFile=/dev/null";

  /** Messages of Java, its engine or the kernel. */
  private static final Pattern SHORT_OF_MEMORY =
      Pattern.compile("(?i)out ?of ?memory|insufficient memory|cannot allocate|physical memory");

  @Override
  public String name() {
    return "pipeline";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    compare(report, mlp(quick ? 60 : 400), quick ? 1 : 3);
    compare(report, resNet(quick ? 10 : 40), quick ? 1 : 3);
    limit(report);
  }

  /** Returns a deep MLP whole, in 2 and in 4 stages. */
  public static List<PipelineCase> mlp(int steps) {
    JsonObject model = new JsonObject().put("name", "mlp").put("hidden", 1_024).put("layers", 4);
    return cases("mlp 4 x 1,024", model, DIGITS, steps);
  }

  /** Returns ResNet-20 whole, in 2 and in 4 stages. */
  public static List<PipelineCase> resNet(int steps) {
    JsonObject shapes = new JsonObject().put("name", "shapes").put("train", 1_000);
    return cases("resnet20", new JsonObject().put("name", "resnet20"), shapes, steps);
  }

  private static List<PipelineCase> cases(
      String name, JsonObject model, JsonObject data, int steps) {
    return Stream.of(0, 2, 4)
        .map(stages -> new PipelineCase(name, model, data, "sgd", stages, MICRO_BATCHES, steps))
        .toList();
  }

  private static void compare(BenchmarkReport report, List<PipelineCase> cases, int repetitions)
      throws Exception {
    Map<PipelineCase, List<JsonObject>> summaries = new LinkedHashMap<>();
    for (int turn = 0; turn < repetitions; turn++) {
      for (PipelineCase one : cases) {
        summaries
            .computeIfAbsent(one, first -> new ArrayList<>())
            .add(TrainCommandLine.train(one.job(), true).summary());
      }
    }
    BenchmarkRow whole = speed(cases.get(0), summaries.get(cases.get(0)));
    report.add(whole);
    for (PipelineCase one : cases.subList(1, cases.size())) {
      report.add(speed(one, summaries.get(one)).over(whole));
      report.add(share(one, "computing", summaries.get(one), "secondsComputing"));
      report.add(share(one, "transfer, optimizer step", summaries.get(one), "secondsExchanging"));
      report.add(share(one, "bubble", summaries.get(one), "secondsWaitingForData"));
    }
  }

  private static BenchmarkRow speed(PipelineCase one, List<JsonObject> summaries) {
    return row(one.toString(), "samples/s", summaries, s -> s.getDouble("samplesPerSecond"));
  }

  private static BenchmarkRow share(
      PipelineCase one, String what, List<JsonObject> summaries, String key) {
    return row(one + ": " + what, "% of time", summaries, s -> 100 * s.getDouble(key) / all(s));
  }

  private static double all(JsonObject summary) {
    return summary.getDouble("secondsComputing")
        + summary.getDouble("secondsExchanging")
        + summary.getDouble("secondsWaitingForData");
  }

  private static BenchmarkRow row(
      String name, String unit, List<JsonObject> summaries, ToDoubleFunction<JsonObject> figure) {
    List<Double> values = summaries.stream().map(figure::applyAsDouble).toList();
    return BenchmarkRow.of(name, unit, Repetitions.of(values));
  }

  /** Trains with the same memory limit for every process; the kernel enforces it. */
  private static void limit(BenchmarkReport report) throws Exception {
    JsonObject model = new JsonObject().put("name", "mlp").put("hidden", 4_096).put("layers", 4);
    List<String> limited =
        List.of("env", "VERTIGRAD_JAVA_OPTS=" + HEAP, "prlimit", "--data=" + LIMIT_BYTES);
    PipelineCase whole = new PipelineCase("mlp 4 x 4,096", model, DIGITS, "adam", 0, 4, 10);
    PipelineCase stages = new PipelineCase("mlp 4 x 4,096", model, DIGITS, "adam", 4, 4, 10);
    String size = "Adam, 53.6 million parameters";
    String limit =
        String.format(Locale.ROOT, "%,d MiB of data memory for each process", LIMIT_BYTES >> 20);
    report.remark("%s, %s, no limit: %s".formatted(whole, size, outcome(whole, List.of())));
    report.remark("%s, %s, %s: %s".formatted(whole, size, limit, outcome(whole, limited)));
    report.remark("%s, %s, %s: %s".formatted(stages, size, limit, outcome(stages, limited)));
  }

  private static String outcome(PipelineCase one, List<String> limited) throws Exception {
    try {
      JsonObject summary = TrainCommandLine.train(one.job(), true, limited).summary();
      return String.format(
          Locale.ROOT, "trained, %.0f samples/s", summary.getDouble("samplesPerSecond"));
    } catch (IOException failure) {
      Optional<String> memory =
          failure.getMessage().lines().filter(SHORT_OF_MEMORY.asPredicate()).findFirst();
      String first = failure.getMessage().strip().lines().findFirst().orElse("");
      return memory
          .map("did not train for want of memory (%s)"::formatted)
          .orElse("did not train, and memory was not the reason (%s)".formatted(first));
    }
  }
}
