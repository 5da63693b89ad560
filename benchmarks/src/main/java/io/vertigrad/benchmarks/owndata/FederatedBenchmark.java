package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.report.Benchmark;
import io.vertigrad.benchmarks.report.BenchmarkReport;
import io.vertigrad.benchmarks.report.BenchmarkRow;
import io.vertigrad.benchmarks.report.Cases;
import io.vertigrad.benchmarks.report.Repetitions;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * Measures the accuracy of the strategy {@code federated} on unlike data, in the cells of a
 * published table: Li, Diao, Chen, He: "Federated learning on non-IID data silos: an experimental
 * study", ICDE 2022 (arXiv 2102.02079), table 3, MNIST, with the figures of Flower's baseline of
 * it. The job runs as it is, all members in this JVM.
 */
public final class FederatedBenchmark implements Benchmark {

  private static final int PUBLISHED_ROUNDS = 50;
  private static final int PUBLISHED_EPOCHS = 10;

  private final UnaryOperator<String> properties;

  /**
   * Creates the benchmark.
   *
   * @param properties returns the value of a system property, or null
   */
  public FederatedBenchmark(UnaryOperator<String> properties) {
    this.properties = properties;
  }

  @Override
  public String name() {
    return "federated";
  }

  @Override
  public void run(BenchmarkReport report, boolean quick) throws Exception {
    OwnDataOptions options =
        quick
            ? OwnDataOptions.read(properties, 5, 1, 1)
            : OwnDataOptions.read(properties, PUBLISHED_ROUNDS, PUBLISHED_EPOCHS, 3);
    for (FederatedCase one :
        Cases.named(options.only(), FederatedCase.all(), FederatedCase::toString)) {
      measure(report, options, one);
    }
    report.remark(
        String.format(
            Locale.ROOT,
            "%s; %d rounds of %d local epochs (published: %d of %d), so %.1f %% of the published"
                + " samples; %d workers, batch 64, SGD 0.01, momentum 0.9, decay 1e-5; FedProx"
                + " with mu 0.01; seeds from %d on",
            options.dataName(),
            options.rounds(),
            options.epochs(),
            PUBLISHED_ROUNDS,
            PUBLISHED_EPOCHS,
            share(options),
            FederatedCase.WORKERS,
            options.seed()));
    report.remark(
        "published: the table of Flower's baseline niid_bench; pixels are standardised here, and are"
            + " numbers from 0 to 1 there");
  }

  /** Returns the share of the published samples that a run trains on, in percent. */
  static double share(OwnDataOptions options) {
    return 100.0 * options.rounds() * options.epochs() / (PUBLISHED_ROUNDS * PUBLISHED_EPOCHS);
  }

  private static void measure(BenchmarkReport report, OwnDataOptions options, FederatedCase one)
      throws Exception {
    List<Double> accuracies = new ArrayList<>();
    List<Double> seconds = new ArrayList<>();
    for (int i = 0; i < options.seeds(); i++) {
      int seed = options.seed() + i;
      JobRun run = JobRun.of(one.job(options, seed));
      run.ledgerProblems().forEach(problem -> report.fail(one + ", seed " + seed + ": " + problem));
      accuracies.add(run.accuracy());
      seconds.add(run.seconds());
      System.err.printf(
          Locale.ROOT,
          "  %s, seed %d: %.2f %% in %.0f s; on the way %s%n",
          one,
          seed,
          run.accuracy(),
          run.seconds(),
          run.curve());
    }
    report.add(
        BenchmarkRow.of(one + ", accuracy", "%", Repetitions.of(accuracies))
            .withAim(String.format(Locale.ROOT, "published %.1f", one.published())));
    report.add(BenchmarkRow.of(one + ", run", "s", Repetitions.of(seconds)));
  }
}
