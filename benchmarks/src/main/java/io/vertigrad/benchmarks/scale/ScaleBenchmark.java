package io.vertigrad.benchmarks.scale;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.internal.collective.AllReduce;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Computes messages, bytes and time of one round for 2 to 1,024 workers. It runs the real
 * strategies over a {@link VirtualNetwork}, with ResNet-20's number of parameters. It also prints
 * each line as Markdown.
 */
public final class ScaleBenchmark implements Benchmark {

  private static final String ALL_REDUCE = "allreduce";
  private static final int PARAMETERS = 274_042;
  private static final int FRAME_ELEMENTS = 114_432;
  private static final int ELEMENTS_EACH = 64;
  private static final int MOST = 1024;
  private static final int QUICK_MOST = 32;
  private static final List<Integer> WORKERS = List.of(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024);

  /**
   * A kind of link that has a table.
   *
   * @param bytesPerSecond bandwidth of every link, each way
   */
  private record Link(String name, double bytesPerSecond, long latencyNanos) {}

  private static final List<Link> LINKS =
      List.of(
          new Link("10 Gbit/s, 50 us", 1.25e9, 50_000),
          new Link("100 Mbit/s, 5 ms", 1.25e7, 5_000_000));

  @Override
  public String name() {
    return "scale";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) {
    for (Link link : LINKS) {
      System.out.printf("%n%s, %,d parameters%n%n", link.name(), PARAMETERS);
      System.out.println("| strategy | workers | messages | MB sent by a worker | ms a round |");
      System.out.println("| --- | --- | --- | --- | --- |");
      for (int workers : WORKERS) {
        if (workers <= (quick ? QUICK_MOST : MOST)) {
          strategies().forEach((name, settings) -> measure(report, link, name, settings, workers));
        }
      }
    }
    report.remark(
        "Messages of all workers in one round; computing takes no time; all-reduce around the ring.");
  }

  private static Map<String, JsonObject> strategies() {
    Map<String, JsonObject> strategies = new TreeMap<>();
    strategies.put("server, gather", new JsonObject());
    strategies.put(ALL_REDUCE, named(ALL_REDUCE).put("checkEvery", 0).put("directBytes", 0));
    strategies.put("dpsgd, ring", named("dpsgd").put("topology", "ring"));
    strategies.put("dpsgd, exponential", named("dpsgd").put("topology", "exponential"));
    return strategies;
  }

  private static JsonObject named(String name) {
    return new JsonObject().put("name", name);
  }

  private static void measure(
      BenchmarkReport report, Link link, String name, JsonObject settings, int workers) {
    int parameters = PARAMETERS / ELEMENTS_EACH;
    int most = name.equals(ALL_REDUCE) ? AllReduce.RING_ELEMENTS : FRAME_ELEMENTS;
    ScaleCase one = new ScaleCase(name, settings, workers, parameters, most / ELEMENTS_EACH);
    ScaleCase.Cost cost =
        one.measure(
            () -> new VirtualNetwork(link.bytesPerSecond(), link.latencyNanos(), ELEMENTS_EACH));
    System.out.printf(
        Locale.ROOT,
        "| %s | %d | %,.0f | %.3f | %.2f |%n",
        name,
        workers,
        cost.messages(),
        cost.bytes() / workers / 1e6,
        cost.seconds() * 1e3);
    String title = "%s, %s x %d, ".formatted(link.name(), name, workers);
    report.add(row(title + "round", "ms", cost.seconds() * 1e3));
    report.add(row(title + "messages", "", cost.messages()));
    report.add(row(title + "sent by a worker", "MB", cost.bytes() / workers / 1e6));
  }

  private static BenchmarkRow row(String name, String unit, double value) {
    return BenchmarkRow.of(name, unit, new Repetitions(new double[] {value}));
  }
}
