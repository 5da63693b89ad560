package io.vertigrad.dashboard;

/**
 * The line through the last points of a loss, by least squares, beside the scatter around it.
 *
 * @param points number of points
 * @param updates updates from the first to the last of them
 * @param mean their mean
 * @param change by how much the line rises from the first point to the last; negative if it falls
 * @param error standard error of the change; infinite when there are too few points for one
 */
record LossTrend(int points, double updates, double mean, double change, double error) {

  /** So many standard errors away from 0, a change is not scatter. */
  static final double CERTAIN = 3;

  /** The loss is level when it certainly changes by less than this share of its mean. */
  static final double LEVEL = 0.1;

  /**
   * Returns the trend of the points from an index on.
   *
   * @param versions version of each point, oldest first
   * @param losses loss of each point
   */
  static LossTrend from(int first, double[] versions, double[] losses) {
    int points = losses.length - first;
    if (points < 3) {
      return new LossTrend(points, 0, Double.NaN, 0, Double.POSITIVE_INFINITY);
    }
    double meanVersion = mean(versions, first);
    double meanLoss = mean(losses, first);
    double square = 0;
    double product = 0;
    for (int i = first; i < losses.length; i++) {
      square += (versions[i] - meanVersion) * (versions[i] - meanVersion);
      product += (versions[i] - meanVersion) * (losses[i] - meanLoss);
    }
    double slope = product / square;
    double scatter = 0;
    for (int i = first; i < losses.length; i++) {
      double rest = losses[i] - meanLoss - slope * (versions[i] - meanVersion);
      scatter += rest * rest;
    }
    double updates = versions[losses.length - 1] - versions[first];
    double error = updates * Math.sqrt(scatter / (points - 2) / square);
    return square > 0
        ? new LossTrend(points, updates, meanLoss, slope * updates, error)
        : new LossTrend(points, 0, meanLoss, 0, Double.POSITIVE_INFINITY);
  }

  boolean falls() {
    return change + CERTAIN * error < 0;
  }

  boolean rises() {
    return change - CERTAIN * error > 0;
  }

  /** Returns whether the loss neither falls nor rises, and could not have changed by much. */
  boolean isLevel() {
    return !falls() && !rises() && Math.abs(change) + CERTAIN * error < LEVEL * Math.abs(mean);
  }

  /** Returns the change as a share of the mean, without its sign. */
  double share() {
    return Math.abs(change / mean);
  }

  private static double mean(double[] values, int first) {
    double sum = 0;
    for (int i = first; i < values.length; i++) {
      sum += values[i];
    }
    return sum / (values.length - first);
  }
}
