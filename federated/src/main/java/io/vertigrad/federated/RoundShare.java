package io.vertigrad.federated;

/**
 * The numbers that one partition adds to a sum over all partitions, or that sum: a row for each
 * rank, and numbers of the partition itself before them. The place of a number depends on its rank
 * alone, so that partitions may have the updates of different workers.
 *
 * <p>Number 0 is 1, and so is the first number of each row. A rank is whole if the sums of the two
 * are equal: all partitions had its update. The first number of a row is NaN, and so is its sum, if
 * a partition of the update holds NaN or infinity.
 */
final class RoundShare {

  private final Layout layout;
  private final double[] numbers;

  /** The meaning of the numbers. */
  enum Layout {
    /** A row has the squared distance from the previous aggregate. */
    DISTANCES(1, 2),
    /**
     * Number 1 is the squared norm of the previous aggregate. A row has the inner products with it
     * and with the updates of all ranks up to its own.
     */
    PRODUCTS(2, 0),
    /**
     * Number 1 is the squared norm of the aggregate. A row has squared distance and inner product.
     */
    FACTS(2, 3);

    private final int header;
    private final int width;

    Layout(int header, int width) {
      this.header = header;
      this.width = width;
    }

    private int start(int rank) {
      return header + (this == PRODUCTS ? rank * (rank + 5) / 2 : rank * width);
    }
  }

  /**
   * Creates the share of a partition.
   *
   * @param highest the highest rank that it has an update of
   */
  RoundShare(Layout layout, int highest) {
    this(layout, new double[layout.start(highest + 1)]);
    numbers[0] = 1;
  }

  /** Creates a share of numbers, such as a sum. */
  RoundShare(Layout layout, double[] numbers) {
    this.layout = layout;
    this.numbers = numbers;
  }

  /** Returns all numbers, as they are added. */
  double[] numbers() {
    return numbers;
  }

  /** Returns a number of ranks beyond which there is no row. */
  int ranks() {
    int ranks = 0;
    while (layout.start(ranks) < numbers.length) {
      ranks++;
    }
    return ranks;
  }

  /** Sets number 1. */
  void setOwn(double number) {
    numbers[1] = number;
  }

  /** Returns number 1. */
  double own() {
    return numbers[1];
  }

  /** Sets a number in the row of a rank, from column 1 on, and marks the rank as present. */
  void set(int rank, int column, double number) {
    int start = layout.start(rank);
    numbers[start] = 1;
    numbers[start + column] = number;
  }

  /** Returns a number in the row of a rank. */
  double get(int rank, int column) {
    return numbers[layout.start(rank) + column];
  }

  /** Returns the column of {@link Layout#PRODUCTS} for the product with the update of a rank. */
  static int columnOf(int rank) {
    return 2 + rank;
  }

  /** Marks the update of a rank as left out, because some partition of it is not finite. */
  void setNotFinite(int rank) {
    numbers[layout.start(rank)] = Double.NaN;
  }

  /** Returns whether a partition has left out the update of this rank as not finite. */
  boolean isNotFinite(int rank) {
    int start = layout.start(rank);
    return start < numbers.length && Double.isNaN(numbers[start]);
  }

  /** Returns whether all partitions had an update of this rank. */
  boolean isWhole(int rank) {
    int start = layout.start(rank);
    return start < numbers.length && numbers[start] == numbers[0];
  }
}
