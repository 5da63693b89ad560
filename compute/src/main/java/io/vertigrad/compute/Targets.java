package io.vertigrad.compute;

/**
 * What a model is to tell of each sample of a data set.
 *
 * @param kind classes, labels or values
 * @param outputs number of classes, of labels or of values
 * @param positions of how many positions of a sample a class is to be told; 1 where the sample as a
 *     whole has one, and of labels and values
 */
public record Targets(Kind kind, int outputs, int positions) {

  /** Classes, labels or values. */
  public enum Kind {
    /** One class of several. */
    CLASS("classes"),
    /** Several labels, each of which is 0 or 1. */
    LABELS("labels of 0 or 1"),
    /** Real values. */
    VALUES("real values");

    private final String text;

    Kind(String text) {
      this.text = text;
    }

    /**
     * What they are called in messages.
     *
     * @return a plural
     */
    public String text() {
      return text;
    }
  }

  /** Checks the numbers. */
  public Targets {
    if (outputs < 1 || positions < 1 || positions > 1 && kind != Kind.CLASS) {
      throw new IllegalArgumentException(
          "%d %s at %d positions: expected at least 1 of both, and 1 position unless they are classes"
              .formatted(outputs, kind.text(), positions));
    }
  }

  /**
   * One class for each sample.
   *
   * @param classes how many there are
   * @return the targets
   */
  public static Targets classes(int classes) {
    return new Targets(Kind.CLASS, classes, 1);
  }

  /**
   * A class at each position of a sample.
   *
   * @param classes how many there are
   * @param positions of a sample
   * @return the targets
   */
  public static Targets classes(int classes, int positions) {
    return new Targets(Kind.CLASS, classes, positions);
  }

  /**
   * Labels of 0 or 1.
   *
   * @param labels of a sample
   * @return the targets
   */
  public static Targets labels(int labels) {
    return new Targets(Kind.LABELS, labels, 1);
  }

  /**
   * Real values.
   *
   * @param values of a sample
   * @return the targets
   */
  public static Targets values(int values) {
    return new Targets(Kind.VALUES, values, 1);
  }

  /**
   * How many answers of a sample are either right or wrong.
   *
   * @return 0 where the targets are values
   */
  public int answers() {
    return switch (kind) {
      case CLASS -> positions;
      case LABELS -> outputs;
      case VALUES -> 0;
    };
  }
}
