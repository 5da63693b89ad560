package io.vertigrad.job;

import io.vertigrad.compute.settings.Settings;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.List;
import java.util.stream.Stream;

/**
 * The length of a training, as its job file states it.
 *
 * @param unit unit of the length
 * @param amount length in this unit; a whole number unless the unit is epochs
 */
public record TrainingLength(Unit unit, double amount) {

  private static final long DEFAULT_STEPS = 200;
  private static final long MOST_STEPS = 1_000_000_000_000L;

  /** In place of a number of steps. */
  private static final String UNBOUNDED = "unbounded";

  private static final double FEWEST_EPOCHS = 1e-6;
  private static final double MOST_EPOCHS = 1e6;

  /** The units of a length. */
  public enum Unit {
    /** Steps of each worker: key {@code steps}. */
    STEPS("steps"),
    /** Steps of all workers together, shared evenly: key {@code totalSteps}. */
    TOTAL_STEPS("totalSteps"),
    /** Passes over the training set: key {@code epochs}. */
    EPOCHS("epochs"),
    /** No limit: {@code "unbounded"} for the key {@code steps}. */
    UNBOUNDED("steps");

    private final String key;

    Unit(String key) {
      this.key = key;
    }

    /**
     * Returns the unit's key in the job file.
     *
     * @return such as {@code epochs}
     */
    public String key() {
      return key;
    }
  }

  /**
   * Returns the keys of the job file of which at most one may be given.
   *
   * @return a key for each unit
   */
  public static List<String> keys() {
    return Stream.of(Unit.values()).map(Unit::key).distinct().toList();
  }

  static TrainingLength read(Settings root) {
    List<Unit> given =
        Stream.of(Unit.STEPS, Unit.TOTAL_STEPS, Unit.EPOCHS)
            .filter(unit -> root.has(unit.key))
            .toList();
    if (given.size() > 1) {
      throw root.refuse(
          given.get(1).key,
          "is given, and %s as well, expected one of %s: remove the others"
              .formatted(given.get(0).key, String.join(", ", keys())));
    }
    Unit unit = given.isEmpty() ? Unit.STEPS : given.get(0);
    if (root.toJson().getValue(Unit.STEPS.key) instanceof String text) {
      if (text.equals(UNBOUNDED)) {
        return new TrainingLength(Unit.UNBOUNDED, MOST_STEPS);
      }
      throw root.refuse(
          Unit.STEPS.key,
          "is \"%s\", expected a number of steps, or \"%s\" to train until the data end or the job is stopped"
              .formatted(text, UNBOUNDED));
    }
    return new TrainingLength(
        unit,
        unit == Unit.EPOCHS
            ? root.number(unit.key, 1, FEWEST_EPOCHS, MOST_EPOCHS)
            : root.longInteger(unit.key, DEFAULT_STEPS, 1, MOST_STEPS));
  }

  /**
   * Returns whether the steps depend on the number of training samples.
   *
   * @return true if the length is in epochs
   */
  public boolean countsSamples() {
    return unit == Unit.EPOCHS;
  }

  /**
   * Returns the steps of each worker, or of each replica of a pipeline.
   *
   * <p>An epoch is one pass over a worker's share of the training set. Its last batch may be
   * smaller; {@code workers.dropLast} leaves such a batch out. If every worker shuffles the whole
   * set ({@code workers.sampler} {@code none}), an epoch is one pass of all workers together.
   *
   * @param replicas number of copies of the model that share the steps
   * @param trainingSamples size of the training set; 0 if it is unknown and not needed
   * @throws IllegalArgumentException if an epoch has no batch
   */
  long steps(WorkersConfig workers, int replicas, long trainingSamples) {
    return switch (unit) {
      case STEPS, UNBOUNDED -> (long) amount;
      case TOTAL_STEPS -> (long) amount / replicas;
      case EPOCHS ->
          BigDecimal.valueOf(amount)
              .multiply(BigDecimal.valueOf(workers.batches(trainingSamples, replicas)))
              .divide(
                  BigDecimal.valueOf(workers.sharesData() ? 1 : replicas), 0, RoundingMode.CEILING)
              .longValueExact();
    };
  }

  /**
   * Returns the number of passes over the training set. If the length is in steps, every batch
   * counts as a full one.
   *
   * @param steps steps of each worker
   */
  double epochs(long steps, WorkersConfig workers, int replicas, long trainingSamples) {
    double samples = (double) steps * workers.batch() * replicas;
    return unit == Unit.EPOCHS ? amount : samples / trainingSamples;
  }

  /** Returns the length for messages: {@code 160 epochs}. */
  @Override
  public String toString() {
    if (unit == Unit.UNBOUNDED) {
      return "no limit of steps";
    }
    String number = BigDecimal.valueOf(amount).stripTrailingZeros().toPlainString();
    return switch (unit) {
      case STEPS, UNBOUNDED -> number + " steps per worker";
      case TOTAL_STEPS -> number + " steps of all workers together";
      case EPOCHS -> number.equals("1") ? "1 epoch" : number + " epochs";
    };
  }
}
