package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.owndata.LiarsCase.Lie;
import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * Measures the accuracy that reductions reach beside liars, in the cells of a published table:
 * Karimireddy, He, Jaggi: "Byzantine-robust learning on heterogeneous datasets via bucketing", ICLR
 * 2022 (arXiv 2006.09365): MNIST sorted by label, 25 workers of which five lie, 600 rounds, batch
 * 32, worker momentum 0.9. And what the same reductions cost in accuracy when nobody lies.
 *
 * <p>Each cell is a {@link LiarsSimulation}; as many run at once as there are processors.
 */
public final class LiarsBenchmark implements Benchmark {

  private static final int PUBLISHED_ROUNDS = 600;
  private static final double LEAST_WORST = 97;
  private static final double MOST_BELOW_MEAN = 0.3;

  private final UnaryOperator<String> properties;

  /**
   * Creates the benchmark.
   *
   * @param properties returns the value of a system property, or null
   */
  public LiarsBenchmark(UnaryOperator<String> properties) {
    this.properties = properties;
  }

  @Override
  public String name() {
    return "liars";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    OwnDataOptions options =
        OwnDataOptions.read(properties, quick ? 60 : PUBLISHED_ROUNDS, 1, quick ? 1 : 3);
    List<LiarsCase> cases = Cases.named(options.only(), LiarsCase.all(), LiarsCase::toString);
    DataConfig data = options.dataConfig();
    ClassLoader loader = getClass().getClassLoader();
    Dataset train = DatasetProvider.open(data, Split.TRAIN, loader);
    Dataset test = DatasetProvider.open(data, Split.TEST, loader);
    ExecutorService threads =
        Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    try {
      Map<LiarsCase, List<Future<Double>>> runs = new LinkedHashMap<>();
      for (LiarsCase one : cases) {
        runs.put(
            one,
            IntStream.range(options.seed(), options.seed() + options.seeds())
                .mapToObj(
                    seed ->
                        threads.submit(
                            () ->
                                new LiarsSimulation(train, test, one, seed, options.rounds())
                                    .accuracy()))
                .toList());
      }
      report(report, runs);
    } finally {
      threads.shutdownNow();
    }
    report.remark(
        String.format(
            Locale.ROOT,
            "%s sorted by label (%s: shuffled), %d workers, %d of them lie, %d rounds (published:"
                + " %d), batch 32, momentum 0.9, rate 0.01; clip radius 10, both as for a momentum"
                + " m <- 0.9 m + g with radius 100; convolutions of 5 x 5 to %d and %d channels with"
                + " pools, dense 120, 84 and 10 (published: of 3 x 3 to 32 and 64, one pool, dropout,"
                + " dense 128 and 10); seeds from %d on",
            options.dataName(),
            Lie.NONE,
            LiarsCase.WORKERS,
            LiarsCase.LIARS,
            options.rounds(),
            PUBLISHED_ROUNDS,
            LiarsCase.CHANNELS,
            2 * LiarsCase.CHANNELS,
            options.seed()));
    report.remark(
        "simulated on one thread each: the product's engine, partitions, shard and reduction; liars"
            + " that flip bits or labels have worker momentum too, which the published do not");
  }

  private static void report(BenchmarkReport report, Map<LiarsCase, List<Future<Double>>> runs)
      throws Exception {
    Map<String, List<Double>> worst = new LinkedHashMap<>();
    BenchmarkRow mean = null;
    for (Map.Entry<LiarsCase, List<Future<Double>>> entry : runs.entrySet()) {
      LiarsCase one = entry.getKey();
      List<Double> accuracies = new ArrayList<>();
      for (Future<Double> run : entry.getValue()) {
        accuracies.add(run.get());
      }
      BenchmarkRow row = BenchmarkRow.of(one.toString(), "%", Repetitions.of(accuracies));
      if (one.lie() != Lie.NONE) {
        worst.merge(one.rule(), accuracies, LiarsBenchmark::least);
      } else if (mean == null && one.reduction().equals("mean")) {
        mean = row;
      } else if (mean != null) {
        row = row.withAim("at least " + least(mean.measured().median()));
      }
      report.add(row);
    }
    worst.forEach(
        (rule, accuracies) -> {
          BenchmarkRow row = BenchmarkRow.of(rule + ", worst lie", "%", Repetitions.of(accuracies));
          report.add(
              rule.equals("centredClipping, buckets of 2")
                  ? row.withAim("at least " + LEAST_WORST)
                  : row);
        });
  }

  private static String least(double mean) {
    return String.format(Locale.ROOT, "%.2f", mean - MOST_BELOW_MEAN);
  }

  /** Returns the lower accuracy for each seed. */
  private static List<Double> least(List<Double> some, List<Double> others) {
    return IntStream.range(0, some.size())
        .mapToObj(i -> Math.min(some.get(i), others.get(i)))
        .toList();
  }
}
