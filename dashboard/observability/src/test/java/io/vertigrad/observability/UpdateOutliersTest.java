package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.job.Role;
import io.vertigrad.observability.UpdateOutliers.Finding;
import io.vertigrad.observability.UpdateOutliers.Outlier;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the judgement with series, and with the updates of a regression on drawn samples. */
final class UpdateOutliersTest {

  private static final int LIAR = 3;
  private static final int ROUNDS = 60;
  private static final int NAMED_AFTER = UpdateOutliers.LEAST + UpdateOutliers.HELD;

  private final UpdateOutliers outliers = new UpdateOutliers();
  private final Random random = new Random(1);
  private long version;

  @Test
  void shouldNameTheWorkerWhenItsUpdatesPointTheOtherWay() {
    for (int i = 0; i < NAMED_AFTER - 1; i++) {
      round(1.8, -0.31, 0);
    }
    assertEquals(List.of(), outliers.outliers());

    round(1.8, -0.31, 0);

    assertEquals(
        List.of(
            new Outlier(
                LIAR,
                Finding.OPPOSITE,
                "Worker 3's updates point the other way (cosine -0.31): wrong labels, a wrong sign"
                    + " or broken memory?")),
        outliers.outliers());
  }

  @Test
  void shouldNameTheWorkerWhenItsUpdatesAreFarFromTheOthers() {
    rounds(NAMED_AFTER, 4.25, 0.1, 0);

    assertEquals(
        "Worker 3's updates are far from the others' (4.3 times the usual distance): its data or"
            + " its machine?",
        outliers.outliers().get(0).sentence());
  }

  @Test
  void shouldNameNobodyWhenAnUpdateIsLongAndPointsTheSameWay() {
    rounds(4 * NAMED_AFTER, 5, 0.8, 0);

    assertEquals(List.of(), outliers.outliers());
  }

  @Test
  void shouldSayThatAWorkerIsLeftOutWhenMostOthersAreNot() {
    rounds(NAMED_AFTER, 1.5, 0.2, 1);

    assertEquals(
        "Worker 3's updates had less than half of their weight in 100 % of the last rounds: are its"
            + " data unlike the others'?",
        outliers.outliers().get(0).sentence());
  }

  /** Krum accepts the update of one worker, so that the others are left out in all rounds. */
  @Test
  void shouldNameNobodyWhenTheRuleAcceptsASingleWorker() {
    for (int i = 0; i < 4 * NAMED_AFTER; i++) {
      version++;
      for (int rank = 0; rank < 6; rank++) {
        report(rank, rank == 0 ? 0 : 1, rank == 0 ? 1 : -0.2, rank == 0 ? 0 : 1);
      }
    }

    assertEquals(List.of(), outliers.outliers());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void shouldNameNobodyWhenThereAreOnlyAFewWorkers(int workers) {
    for (int i = 0; i < 4 * NAMED_AFTER; i++) {
      version++;
      for (int rank = 0; rank < workers; rank++) {
        report(rank, 1, rank == 0 ? -0.9 : 0.9, 0);
      }
    }

    assertEquals(List.of(), outliers.outliers());
  }

  @Test
  void shouldKeepANameUntilSeveralJudgementsHaveNotFoundItWhenAWorkerIsMended() {
    rounds(NAMED_AFTER, 1.8, -0.31, 0);
    rounds(UpdateOutliers.WINDOW / 4, 1, 0.6, 0);
    assertEquals(1, outliers.outliers().size());

    rounds(UpdateOutliers.WINDOW + 2 * UpdateOutliers.HELD, 1, 0.6, 0);

    assertEquals(List.of(), outliers.outliers());
  }

  @Test
  void shouldForgetReportsWhenAnotherProcessTakesTheRank() {
    rounds(NAMED_AFTER, 1.8, -0.31, 0);

    outliers.apply(new MemberJoined(0, Role.WORKER, LIAR, 1, "a pid 9", ""));

    assertEquals(List.of(), outliers.outliers());
    assertFalse(outliers.toJson().encode().contains("\"rank\":3"), outliers.toJson()::encode);
  }

  @Test
  void shouldSayWhyAWorkerIsExpelledWhenItIs() {
    rounds(NAMED_AFTER, 1.8, -0.31, 1);
    assertEquals(1, outliers.takeFresh().size());
    report(LIAR, UpdateOutliers.EXPELLED, 1);
    rounds(NAMED_AFTER, 1, 0, 1);

    Outlier found = outliers.outliers().get(0);

    assertEquals(Finding.EXPELLED, found.finding());
    assertEquals(
        "Worker 3 is expelled: its updates pointed the other way (cosine -0.31): wrong labels, a"
            + " wrong sign or broken memory?",
        found.sentence());
    assertEquals(List.of(found), outliers.takeFresh());
    assertEquals(List.of(), outliers.takeFresh());
    assertEquals(
        NAMED_AFTER,
        outliers.toJson().getJsonObject(LIAR).getLong("expelledSince"),
        "first report");
  }

  @Test
  void shouldNameTheWorkerWhenItsUpdatesAreNotFinite() {
    for (int i = 0; i < UpdateOutliers.HELD - 1; i++) {
      roundWithNaN();
    }
    assertEquals(List.of(), outliers.outliers());

    roundWithNaN();

    Outlier found = outliers.outliers().get(0);
    assertEquals(Finding.NOT_FINITE, found.finding());
    assertEquals(
        "Worker 3's updates hold NaN or infinity and are left out: broken samples, or a learning"
            + " rate too large for its data?",
        found.sentence());
    for (int i = 0; i < 2 * NAMED_AFTER; i++) {
      roundWithNaN();
    }
    assertEquals(List.of(found), outliers.takeFresh());
    report(LIAR, UpdateOutliers.EXPELLED, 1);
    assertEquals(
        "Worker 3 is expelled: its updates held NaN or infinity: broken samples, or a learning rate"
            + " too large for its data?",
        outliers.outliers().get(0).sentence());
  }

  @Test
  void shouldNameNobodyWhenUpdatesAreFiniteAgain() {
    for (int i = 0; i < NAMED_AFTER; i++) {
      roundWithNaN();
    }

    rounds(1, 1, 0.6, 0);

    assertEquals(List.of(), outliers.outliers());
  }

  @Test
  void shouldNameTheNeighbourWhenTwoWorkersFindItFar() {
    for (int i = 0; i < UpdateOutliers.LEAST - 1; i++) {
      farthest(2, LIAR, 8);
      farthest(4, LIAR, 9);
      farthest(0, 1, 1.2);
    }
    assertEquals(List.of(), outliers.outliers());

    farthest(2, LIAR, 8);
    farthest(4, LIAR, 9);

    Outlier found = outliers.outliers().get(0);
    assertEquals(new Outlier(LIAR, Finding.FAR, found.sentence()), found);
    assertTrue(found.sentence().contains("8.5 times the usual distance"), found.sentence());
    assertEquals(List.of(found), outliers.takeFresh());
    for (int i = 0; i < UpdateOutliers.WINDOW; i++) {
      farthest(2, 1, 1.1);
    }
    assertEquals(List.of(), outliers.outliers(), "worker 2 finds another one the farthest");
  }

  @Test
  void shouldNameNobodyWhenOneWorkerAloneFindsANeighbourFar() {
    for (int i = 0; i < 2 * UpdateOutliers.WINDOW; i++) {
      farthest(LIAR, 2, 1_000);
      farthest(1, 2, 1.5);
    }

    assertEquals(List.of(), outliers.outliers());
  }

  @Test
  void shouldGiveTheFiguresOfAllWorkersAndTheFindingWhenThereIsOne() {
    rounds(NAMED_AFTER, 1.8, -0.31, 0);

    JsonObject alike = outliers.toJson().getJsonObject(0);
    JsonObject liar = outliers.toJson().getJsonObject(LIAR);

    assertEquals(List.of("rank", "distance", "cosine", "leftOut"), List.copyOf(alike.fieldNames()));
    assertEquals(1, alike.getDouble("distance"), 0.05);
    assertEquals(-0.31, liar.getDouble("cosine"), 1e-12);
    assertEquals("opposite", liar.getString("finding"));
    assertEquals(outliers.outliers().get(0).sentence(), liar.getString("sentence"));
  }

  @Test
  void shouldIgnoreScalarsOfOthersWhenTheirNameIsTheSame() {
    outliers.apply(new ScalarReported(0, "server 0", UpdateOutliers.DISTANCE, 1, 9, 1, 0));
    outliers.apply(new ScalarReported(0, "worker 0", "distance", 1, 9, 1, 0));
    outliers.apply(new ScalarReported(0, "worker 0", UpdateOutliers.DISTANCE, 1, Double.NaN, 1, 1));

    assertTrue(outliers.toJson().isEmpty());
  }

  /** The smaller alpha, the more the classes of the workers differ; 100 is nearly alike. */
  @ParameterizedTest
  @Tag("slow")
  @CsvSource({
    "100, mean", "1, mean", "0.5, mean", "0.1, mean",
    "100, median", "1, median", "0.5, median", "0.1, median",
    "100, krum", "1, krum", "0.5, krum", "0.1, krum"
  })
  void shouldNameNobodyWhenHonestWorkersHaveUnlikeData(double alpha, String rule) {
    for (int seed = 1; seed <= 2; seed++) {
      UpdateOutliers judge = new UpdateOutliers();
      Regression run = new Regression(seed, alpha, rule, 0, 0);
      for (int round = 1; round <= ROUNDS; round++) {
        run.round(round, judge);
        assertEquals(List.of(), judge.outliers(), "seed " + seed + ", round " + round);
      }
    }
  }

  @ParameterizedTest
  @Tag("slow")
  @CsvSource({
    "100, median, -1, 0",
    "1, median, -1, 0",
    "100, krum, -1, 0",
    "100, median, 1, 1",
    "100, krum, 1, 1"
  })
  void shouldNameTheLiarAndNobodyElseWhenSignOrLabelsAreWrong(
      double alpha, String rule, int sign, int shift) {
    for (int seed = 1; seed <= 2; seed++) {
      UpdateOutliers judge = new UpdateOutliers();
      Regression run = new Regression(seed, alpha, rule, sign < 0 ? sign : 0, shift);
      int named = 0;
      for (int round = 1; round <= ROUNDS; round++) {
        run.round(round, judge);
        for (Outlier outlier : judge.outliers()) {
          assertEquals(LIAR, outlier.rank(), "seed " + seed + ", round " + round);
          named++;
        }
      }
      assertTrue(named >= ROUNDS / 2, "seed " + seed + ": named in " + named + " rounds");
    }
  }

  private void rounds(int count, double distance, double cosine, double leftOut) {
    for (int i = 0; i < count; i++) {
      round(distance, cosine, leftOut);
    }
  }

  /** Reports a round in which one worker has these figures, and five others are alike. */
  private void round(double distance, double cosine, double leftOut) {
    version++;
    for (int rank = 0; rank < 6; rank++) {
      if (rank == LIAR) {
        report(rank, distance, cosine, leftOut);
      } else {
        report(rank, 1 + 0.02 * random.nextGaussian(), 0.6 + 0.01 * random.nextGaussian(), 0);
      }
    }
  }

  /** Reports a round in which the update of one worker was left out because it held NaN. */
  private void roundWithNaN() {
    version++;
    for (int rank = 0; rank < 6; rank++) {
      if (rank == LIAR) {
        report(rank, UpdateOutliers.LEFT_OUT, 1);
        report(rank, UpdateOutliers.NOT_FINITE, 1);
      } else {
        report(rank, 1 + 0.02 * random.nextGaussian(), 0.6 + 0.01 * random.nextGaussian(), 0);
      }
    }
  }

  private void farthest(int by, int neighbour, double distance) {
    report(by, "neighbour.%d.distance".formatted(neighbour), distance);
  }

  private void report(int rank, double distance, double cosine, double leftOut) {
    report(rank, UpdateOutliers.DISTANCE, distance);
    report(rank, UpdateOutliers.COSINE, cosine);
    report(rank, UpdateOutliers.LEFT_OUT, leftOut);
  }

  private void report(int rank, String name, double value) {
    outliers.apply(new ScalarReported(0, "worker " + rank, name, version, value, version, 0));
  }

  /** Softmax regression of ten workers, whose classes are drawn from a Dirichlet distribution. */
  private static final class Regression {

    private static final int WORKERS = 10;
    private static final int CLASSES = 10;
    private static final int FEATURES = 12;
    private static final int BATCH = 24;

    private final Random random;
    private final double[][] means = new double[CLASSES][FEATURES];
    private final double[][] classes = new double[WORKERS][CLASSES];
    private final double[] weights = new double[CLASSES * FEATURES];
    private final String rule;
    private final int sign;
    private final int shift;

    Regression(int seed, double alpha, String rule, int sign, int shift) {
      random = new Random(seed);
      this.rule = rule;
      this.sign = sign;
      this.shift = shift;
      for (double[] mean : means) {
        Arrays.setAll(mean, i -> random.nextGaussian());
      }
      for (int c = 0; c < CLASSES; c++) {
        for (double[] worker : classes) {
          worker[c] = gamma(alpha);
        }
      }
    }

    /** Draws from a gamma distribution (Marsaglia and Tsang 2000); below 1 with their power. */
    private double gamma(double shape) {
      if (shape < 1) {
        return gamma(shape + 1) * Math.pow(random.nextDouble(), 1 / shape);
      }
      double d = shape - 1.0 / 3;
      while (true) {
        double x = random.nextGaussian();
        double v = Math.pow(1 + x / Math.sqrt(9 * d), 3);
        if (v > 0 && Math.log(random.nextDouble()) < x * x / 2 + d - d * v + d * Math.log(v)) {
          return d * v;
        }
      }
    }

    /** Takes a step, and reports it. */
    void round(long version, UpdateOutliers judge) {
      double[][] updates = new double[WORKERS][];
      for (int rank = 0; rank < WORKERS; rank++) {
        updates[rank] = gradient(rank);
      }
      double[] accepted = combined(updates);
      double[] distances = new double[WORKERS];
      for (int rank = 0; rank < WORKERS; rank++) {
        distances[rank] = Math.sqrt(squaredDistance(updates[rank], accepted));
      }
      double usual = median(distances);
      for (int rank = 0; rank < WORKERS; rank++) {
        double cosine =
            dot(updates[rank], accepted)
                / Math.sqrt(dot(updates[rank], updates[rank]) * dot(accepted, accepted));
        String worker = "worker " + rank;
        double distance = distances[rank] / usual;
        judge.apply(
            new ScalarReported(0, worker, UpdateOutliers.DISTANCE, version, distance, version, 0));
        judge.apply(
            new ScalarReported(0, worker, UpdateOutliers.COSINE, version, cosine, version, 0));
      }
      for (int i = 0; i < weights.length; i++) {
        weights[i] -= 0.1 * accepted[i];
      }
    }

    private double[] gradient(int rank) {
      double[] gradient = new double[weights.length];
      for (int sample = 0; sample < BATCH; sample++) {
        int label = drawn(classes[rank]);
        double[] x = new double[FEATURES];
        Arrays.setAll(x, i -> means[label][i] + random.nextGaussian());
        double[] wrong = probabilities(x);
        wrong[rank == LIAR ? (label + shift) % CLASSES : label] -= 1;
        for (int c = 0; c < CLASSES; c++) {
          for (int i = 0; i < FEATURES; i++) {
            gradient[c * FEATURES + i] += wrong[c] * x[i] / BATCH;
          }
        }
      }
      if (rank == LIAR && sign < 0) {
        Arrays.setAll(gradient, i -> -gradient[i]);
      }
      return gradient;
    }

    private int drawn(double[] shares) {
      double left = random.nextDouble() * Arrays.stream(shares).sum();
      int drawn = 0;
      while (drawn < shares.length - 1 && left >= shares[drawn]) {
        left -= shares[drawn++];
      }
      return drawn;
    }

    private double[] probabilities(double[] x) {
      double[] scores = new double[CLASSES];
      for (int c = 0; c < CLASSES; c++) {
        for (int i = 0; i < FEATURES; i++) {
          scores[c] += weights[c * FEATURES + i] * x[i];
        }
      }
      double greatest = Arrays.stream(scores).max().orElseThrow();
      double[] powers = Arrays.stream(scores).map(score -> Math.exp(score - greatest)).toArray();
      double sum = Arrays.stream(powers).sum();
      return Arrays.stream(powers).map(power -> power / sum).toArray();
    }

    private double[] combined(double[][] updates) {
      if (rule.equals("krum")) {
        return updates[krum(updates)];
      }
      double[] combined = new double[weights.length];
      for (int i = 0; i < combined.length; i++) {
        int element = i;
        double[] values = Arrays.stream(updates).mapToDouble(update -> update[element]).toArray();
        combined[i] =
            rule.equals("mean") ? Arrays.stream(values).average().orElseThrow() : median(values);
      }
      return combined;
    }

    /** Returns the worker with the nearest seven others (Blanchard et al. 2017, one liar). */
    private static int krum(double[][] updates) {
      int best = 0;
      double least = Double.POSITIVE_INFINITY;
      for (int rank = 0; rank < WORKERS; rank++) {
        double[] own = updates[rank];
        double score =
            Arrays.stream(updates)
                .mapToDouble(other -> squaredDistance(own, other))
                .sorted()
                .limit(WORKERS - 2)
                .sum();
        if (score < least) {
          least = score;
          best = rank;
        }
      }
      return best;
    }

    private static double squaredDistance(double[] one, double[] other) {
      double sum = 0;
      for (int i = 0; i < one.length; i++) {
        sum += (one[i] - other[i]) * (one[i] - other[i]);
      }
      return sum;
    }

    private static double dot(double[] one, double[] other) {
      double sum = 0;
      for (int i = 0; i < one.length; i++) {
        sum += one[i] * other[i];
      }
      return sum;
    }

    private static double median(double[] values) {
      double[] sorted = values.clone();
      Arrays.sort(sorted);
      return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
  }
}
