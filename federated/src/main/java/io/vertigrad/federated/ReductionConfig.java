package io.vertigrad.federated;

import io.vertigrad.compute.Block;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Partition;
import io.vertigrad.strategy.Barrier;
import io.vertigrad.strategy.ServerStrategy;
import io.vertigrad.strategy.ServerStrategyContext;
import io.vertigrad.strategy.StrategyFactory;
import io.vertigrad.strategy.StrategyTraits;
import java.util.Arrays;
import java.util.Locale;

/**
 * How the updates of a round are combined, as the {@code strategy} section of a job file says.
 *
 * @param kind the rule
 * @param liars number of wrong workers to withstand: f
 * @param bucket number of updates of a random bucket, whose mean counts as one update; 1 for none
 * @param neighbours true to replace each update by the mean of the {@code n - f} nearest ones
 * @param clipRadius longest difference from the previous aggregate that counts in full, for centred
 *     clipping; 0 for the median of the round's differences
 * @param expel rounds in sequence in which the updates of a worker do not fit, after which the
 *     worker is left out for the rest of the run; 0 for never
 */
record ReductionConfig(
    Kind kind, int liars, int bucket, boolean neighbours, double clipRadius, int expel) {

  private static final int MOST_WORKERS = 4096;
  private static final int MOST_ROUNDS = 1_000_000;

  /** The rules. */
  enum Kind {
    /** The mean, weighted by samples. It withstands nothing. */
    MEAN,
    /** The middle value of every coordinate. */
    MEDIAN,
    /** The mean of every coordinate without its {@code liars} lowest and highest values. */
    TRIMMED_MEAN,
    /** The point with the least sum of distances. */
    GEOMETRIC_MEDIAN,
    /** The update that is nearest to its neighbours. */
    KRUM,
    /** The mean of the {@code n - f} updates that are nearest to their neighbours. */
    MULTI_KRUM,
    /** The previous aggregate and the mean of differences from it, each clipped. */
    CENTRED_CLIPPING;

    /** Returns the name in job files, such as {@code trimmedMean}. */
    String key() {
      StringBuilder key = new StringBuilder();
      for (String word : name().split("_")) {
        String lower = word.toLowerCase(Locale.ROOT);
        key.append(
            key.isEmpty() ? lower : Character.toUpperCase(lower.charAt(0)) + lower.substring(1));
      }
      return key.toString();
    }

    /** Returns whether every coordinate is combined by itself. */
    boolean isByCoordinate() {
      return this == MEDIAN || this == TRIMMED_MEAN;
    }
  }

  /**
   * Reads the keys {@code reduction}, {@code liars}, {@code bucket}, {@code neighbours}, {@code
   * clipRadius} and {@code expel}. The caller refuses unknown keys.
   *
   * @param section of the strategy
   * @param usual the rule if the section names none
   * @throws io.vertigrad.compute.settings.SettingsException naming the key that does not fit
   */
  static ReductionConfig read(Settings section, Kind usual) {
    String[] names = Arrays.stream(Kind.values()).map(Kind::key).toArray(String[]::new);
    String name = section.choice("reduction", usual.key(), names);
    Kind kind = Kind.values()[Arrays.asList(names).indexOf(name)];
    ReductionConfig config =
        new ReductionConfig(
            kind,
            section.integer("liars", kind == Kind.MEAN ? 0 : 1, 0, MOST_WORKERS),
            section.integer("bucket", 1, 1, MOST_WORKERS),
            section.flag("neighbours", false),
            section.number("clipRadius", 0, 0, Float.MAX_VALUE),
            section.integer("expel", 0, 0, MOST_ROUNDS));
    config.refuseMisfits(section);
    return config;
  }

  private void refuseMisfits(Settings section) {
    if (kind == Kind.MEAN && (liars > 0 || bucket > 1 || neighbours)) {
      String key = liars > 0 ? "liars" : bucket > 1 ? "bucket" : "neighbours";
      throw section.refuse(
          key,
          "is %s with reduction \"mean\", which one wrong worker can move anywhere: expected another reduction, such as \"centredClipping\""
              .formatted(liars > 0 ? liars : bucket > 1 ? bucket : true));
    }
    if (expel > 0 && liars == 0) {
      throw section.refuse(
          "expel",
          "is %s with 0 liars, expected 0, or the most workers that may be expelled as liars"
              .formatted(expel));
    }
    if (bucket > 1 && neighbours) {
      throw section.refuse(
          "neighbours", "is true with a bucket of %s, expected one of the two".formatted(bucket));
    }
    if (clipRadius > 0 && kind != Kind.CENTRED_CLIPPING) {
      throw section.refuse(
          "clipRadius",
          "is %s with reduction \"%s\", expected it with \"centredClipping\" only"
              .formatted(clipRadius, kind.key()));
    }
  }

  /**
   * Checks that the job has enough workers.
   *
   * @throws io.vertigrad.compute.settings.SettingsException naming the key
   */
  void check(JobConfig job) {
    check(job, job.workers().count());
  }

  /**
   * Checks that each round has enough workers.
   *
   * @param workers number of workers of a round
   * @throws io.vertigrad.compute.settings.SettingsException naming the key
   */
  void check(JobConfig job, int workers) {
    int vectors = mixing(0).vectors(workers);
    int least = kind.isByCoordinate() ? 2 * liars + 1 : rule().leastVectors(liars);
    if (liars > 0 && vectors < least) {
      String after = vectors == workers ? "" : ", whose means are %s vectors".formatted(vectors);
      throw job.settings()
          .section("strategy")
          .refuse(
              "liars",
              "is %s with %s workers in a round%s: \"%s\" needs at least %s; use more workers, fewer liars%s"
                  .formatted(
                      liars,
                      workers,
                      after,
                      kind.key(),
                      least,
                      after.isEmpty() ? "" : " or smaller buckets"));
    }
    if (job.workers().balancesSpeed()) {
      throw job.settings()
          .section("workers")
          .refuse(
              "balance",
              "is \"speed\" with strategy \"%s\", expected \"equal\": a worker would count for more than another"
                  .formatted(job.strategy().name()));
    }
  }

  /** Returns whether it is the weighted mean and nothing else. */
  boolean isPlainMean() {
    return kind == Kind.MEAN;
  }

  /** Returns whether a step needs sums over all partitions. */
  boolean sumsPartitions() {
    return neighbours || !isPlainMean() && !kind.isByCoordinate();
  }

  /** Returns whether the rule needs the aggregate of the round before. */
  boolean usesPrevious() {
    return rule().usesPrevious();
  }

  /** Returns the traits of a strategy with this reduction. */
  StrategyTraits traits(StrategyTraits strategy) {
    return sumsPartitions() ? strategy.summingPartitions() : strategy;
  }

  /** Returns a strategy with this reduction, which leaves out updates that are not finite. */
  StrategyFactory leavingOut(StrategyFactory strategy) {
    return isPlainMean() ? strategy : strategy.takingNotFinite();
  }

  /** Returns the number of elements that the reduction keeps in a partition's memory. */
  int memory(Partition partition) {
    return usesPrevious() && partition.kind() == Block.Kind.TRAINABLE ? partition.length() : 0;
  }

  /** Returns the mixing before the rule. */
  Mixing mixing(long seed) {
    if (neighbours) {
      return new Mixing.Neighbours(liars);
    }
    return bucket > 1 ? new Mixing.Buckets(bucket, seed) : Mixing.NONE;
  }

  /** Returns the rule for whole vectors; that of a coordinate-wise reduction is not used. */
  GramRule rule() {
    return switch (kind) {
      case GEOMETRIC_MEDIAN -> new GramRule.GeometricMedian();
      case KRUM -> new GramRule.Krum(liars, 1);
      case MULTI_KRUM -> new GramRule.Krum(liars, 0);
      case CENTRED_CLIPPING -> new GramRule.CentredClipping(clipRadius, 1);
      case MEAN, MEDIAN, TRIMMED_MEAN -> new GramRule.Mean();
    };
  }

  /** Returns the coordinate-wise rule for so many vectors. */
  TrimmedMean byCoordinate(int vectors) {
    return kind == Kind.TRIMMED_MEAN
        ? new TrimmedMean(vectors, liars)
        : TrimmedMean.median(vectors);
  }

  /**
   * Creates the rule of one partition: rounds of all ranks, a step with what they combine to.
   *
   * @param strategy name of the strategy, for errors
   * @param seed of the job, which decides the buckets
   * @param deadlineMillis longest time that an update waits for the others
   */
  ServerStrategy barrier(
      String strategy, long seed, long deadlineMillis, ServerStrategyContext context) {
    return isPlainMean()
        ? Barrier.summing(strategy, 0, deadlineMillis, context, true)
        : Barrier.keepingAll(
            strategy, deadlineMillis, context, RobustReduction.of(this, seed, context));
  }
}
