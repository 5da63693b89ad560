package io.vertigrad.compute;

/**
 * The values that a model predicts for each sample of a data set.
 *
 * @param kind classes, labels or values
 * @param outputs number of classes, of labels or of values
 * @param positions number of positions of a sample that have a class each; 1 when the sample as a
 *     whole has one class, and for labels and values
 */
public record Targets(Kind kind, int outputs, int positions) {

  /** The kind of a target. */
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
     * Returns the name used in messages.
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
          "%s %s at %s positions: expected at least 1 of both, and 1 position unless they are classes"
              .formatted(outputs, kind.text(), positions));
    }
  }

  /**
   * Creates targets of one class for each sample.
   *
   * @param classes number of classes
   * @return the targets
   */
  public static Targets classes(int classes) {
    return new Targets(Kind.CLASS, classes, 1);
  }

  /**
   * Creates targets of one class for each position of a sample.
   *
   * @param classes number of classes
   * @param positions number of positions of a sample
   * @return the targets
   */
  public static Targets classes(int classes, int positions) {
    return new Targets(Kind.CLASS, classes, positions);
  }

  /**
   * Creates targets of 0 or 1.
   *
   * @param labels number of labels of a sample
   * @return the targets
   */
  public static Targets labels(int labels) {
    return new Targets(Kind.LABELS, labels, 1);
  }

  /**
   * Creates targets of real values.
   *
   * @param values number of values of a sample
   * @return the targets
   */
  public static Targets values(int values) {
    return new Targets(Kind.VALUES, values, 1);
  }

  /**
   * Returns the number of predictions of a sample that can be correct or wrong.
   *
   * @return 0 when the targets are values
   */
  public int answers() {
    return switch (kind) {
      case CLASS -> positions;
      case LABELS -> outputs;
      case VALUES -> 0;
    };
  }
}
