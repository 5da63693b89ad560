package io.vertigrad.benchmarks.scale;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.collective.AllReduce;
import io.vertigrad.internal.membership.CoordinatorLoad;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * Computes what up to 10,000 workers cost: it runs a real coordinator with simulated members, a
 * real shard of a server, and formulas of a round with what these two measured. Then it runs the
 * real strategies over a {@link VirtualNetwork} with up to 1,024 workers and ResNet-20's number of
 * parameters. It prints each table as Markdown.
 */
public final class ScaleBenchmark implements Benchmark {

  private static final String ALL_REDUCE = "allreduce";
  private static final int PARAMETERS = 274_042;
  private static final int FRAME_ELEMENTS = 114_432;
  private static final int ELEMENTS_EACH = 64;
  private static final int MOST = 1024;
  private static final int QUICK_MOST = 32;
  private static final List<Integer> WORKERS = List.of(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024);

  private static final List<Integer> LOADS = List.of(4, 64, 1_000, 10_000);
  private static final int QUICK_LOAD = 1_000;

  /** ResNet-50's number of parameters. */
  private static final long LARGE_PARAMETERS = 25_557_032;

  private static final RoundModel LARGE = new RoundModel(LARGE_PARAMETERS, 1.25e9, 50e-6);
  private static final int MANY_SERVERS = 64;
  private static final int EXCHANGE_EVERY = 100;
  private static final double SUSPECT_SECONDS = 3;
  private static final double MICROS = 1e6;
  private static final double MILLIS = 1e3;
  private static final double MEGA = 1e6;

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
    List<Integer> loads =
        LOADS.stream().filter(workers -> !quick || workers <= QUICK_LOAD).toList();
    coordinators(report, loads);
    rounds(report, loads);
    for (Link link : LINKS) {
      System.out.printf(Locale.ROOT, "%n%s, %,d parameters%n%n", link.name(), PARAMETERS);
      System.out.println("| strategy | workers | messages | MB sent by a worker | ms a round |");
      System.out.println("| --- | --- | --- | --- | --- |");
      for (int workers : WORKERS) {
        if (workers <= (quick ? QUICK_MOST : MOST)) {
          strategies().forEach((name, settings) -> measure(report, link, name, settings, workers));
        }
      }
    }
    report.remark(
        "Simulated rounds: messages of all workers; computing takes no time; all-reduce around the ring.");
  }

  /** Prints what members cost the coordinator; the last two columns are processor time. */
  private static void coordinators(BenchmarkReport report, List<Integer> loads) {
    CoordinatorLoad.run("sync", QUICK_LOAD, 2);
    System.out.printf(
        Locale.ROOT, "%nA coordinator, sync, 2 servers; without the event bus itself%n%n");
    System.out.println(
        "| workers | phase | received | sent | MB sent | largest, kB | memberships | ms | ms to"
            + " publish |");
    System.out.println("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (int workers : loads) {
      for (CoordinatorLoad.Cost cost : CoordinatorLoad.run("sync", workers, 2)) {
        System.out.printf(
            Locale.ROOT,
            "| %,d | %s | %,d | %,d | %,.1f | %.1f | %d | %,.0f | %,.0f |%n",
            workers,
            cost.phase(),
            cost.received(),
            cost.sent(),
            cost.sentBytes() / MEGA,
            cost.largestBytes() / MILLIS,
            cost.memberships(),
            cost.stateMillis(),
            cost.publishMillis());
        String title = "coordinator x %s, %s, ".formatted(workers, cost.phase());
        report.add(row(title + "state", "ms", cost.stateMillis()));
        report.add(row(title + "publishing", "ms", cost.publishMillis()));
        report.add(row(title + "sent", "MB", cost.sentBytes() / MEGA));
        if (cost.phase().equals(CoordinatorLoad.HEARTBEATS)) {
          heartbeats(report, workers, cost);
        } else if (cost.phase().equals(CoordinatorLoad.ONE_LOST)) {
          double seconds = cost.publishMillis() / MILLIS / cost.memberships();
          double limit = workers * Math.sqrt(SUSPECT_SECONDS / seconds);
          report.add(
              row("coordinator x %s, workers at 3 s a membership".formatted(workers), "", limit));
        }
      }
    }
  }

  private static void heartbeats(BenchmarkReport report, int workers, CoordinatorLoad.Cost cost) {
    String title = "coordinator x %s, ".formatted(workers);
    double micros = cost.stateMillis() * MILLIS / cost.received();
    report.add(row(title + "a heartbeat", "us", micros));
    report.add(row(title + "workers at one core", "", MICROS / micros));
    report.add(
        row(
            title + "events",
            "kB/s",
            cost.eventBytes() / MILLIS / CoordinatorLoad.HEARTBEAT_SECONDS));
  }

  /** Prints the time of a step by the formulas, and a server's processor time. */
  private static void rounds(BenchmarkReport report, List<Integer> loads) {
    ShardLoad.microsPerGradient(QUICK_MOST, FRAME_ELEMENTS);
    System.out.printf(
        Locale.ROOT, "%n10 Gbit/s, 50 us, %,d parameters; ms a step%n%n", LARGE_PARAMETERS);
    System.out.println(
        "| workers | sync, 1 server | its cores | sync, 64 servers | allreduce | allreduce, groups"
            + " | messages of the ring |");
    System.out.println("| --- | --- | --- | --- | --- | --- | --- |");
    for (int workers : loads) {
      double micros = ShardLoad.microsPerGradient(workers, FRAME_ELEMENTS);
      long partitions = (LARGE_PARAMETERS + FRAME_ELEMENTS - 1) / FRAME_ELEMENTS;
      double work = workers * partitions * micros / MICROS;
      double one = LARGE.serverSeconds(workers, 1);
      int groups = (int) Math.sqrt(workers);
      System.out.printf(
          Locale.ROOT,
          "| %,d | %,.0f | %.2f | %,.0f | %,.0f | %,.0f | %,d |%n",
          workers,
          one * MILLIS,
          work / one,
          LARGE.serverSeconds(workers, MANY_SERVERS) * MILLIS,
          LARGE.ringSeconds(workers) * MILLIS,
          LARGE.groupedSeconds(workers, groups, EXCHANGE_EVERY) * MILLIS,
          LARGE.ringMessages(workers, AllReduce.ringElements((int) LARGE_PARAMETERS, workers)));
      report.add(row("shard x %s, a gradient of 447 KiB".formatted(workers), "us", micros));
      report.add(
          row(
              "shard x %s, a gradient of 256 B".formatted(workers),
              "us",
              ShardLoad.microsPerGradient(workers, ELEMENTS_EACH)));
    }
    report.remark(
        "Groups: as many as each has members; they exchange every %s steps."
            .formatted(EXCHANGE_EVERY));
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
    int most =
        name.equals(ALL_REDUCE) ? AllReduce.ringElements(PARAMETERS, workers) : FRAME_ELEMENTS;
    ScaleCase one =
        new ScaleCase(
            name, settings, workers, parameters, (most + ELEMENTS_EACH - 1) / ELEMENTS_EACH);
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
    String title = "%s, %s x %s, ".formatted(link.name(), name, workers);
    report.add(row(title + "round", "ms", cost.seconds() * 1e3));
    report.add(row(title + "messages", "", cost.messages()));
    report.add(row(title + "sent by a worker", "MB", cost.bytes() / workers / 1e6));
  }

  private static BenchmarkRow row(String name, String unit, double value) {
    return BenchmarkRow.of(name, unit, new Repetitions(new double[] {value}));
  }
}
