package io.vertigrad.compute;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/**
 * How far a model's predictions of one value are off, in the unit of the value.
 *
 * @param name name of the value, such as that of a column
 * @param rmse root mean squared error
 * @param mae mean absolute error
 */
public record ValueErrors(String name, double rmse, double mae) {

  private static final int MOST_SHOWN = 4;

  /** From here on a figure is shown as a whole number, up to where it has an exponent. */
  private static final double WHOLE_FROM = 1e4;

  private static final double WHOLE_UNTIL = 1e12;

  /**
   * Returns the errors of these samples and others.
   *
   * @param samples number of these samples
   * @param other errors of the same value
   * @param others number of the other samples
   * @return the errors of both together
   */
  ValueErrors plus(int samples, ValueErrors other, int others) {
    double all = (double) samples + others;
    return new ValueErrors(
        name,
        Math.sqrt((samples * rmse * rmse + others * other.rmse * other.rmse) / all),
        (samples * mae + others * other.mae) / all);
  }

  /**
   * Formats an error for display.
   *
   * @param error in the unit of a value
   * @return such as {@code 195,214} or {@code 0.1234}
   */
  public static String figure(double error) {
    boolean whole = Math.abs(error) >= WHOLE_FROM && Math.abs(error) < WHOLE_UNTIL;
    return String.format(Locale.ROOT, whole ? "%,.0f" : "%.4g", error);
  }

  /**
   * Formats the errors of a model's values for display.
   *
   * @param errors at least one
   * @return such as {@code RMSE of price 195,214 (MAE 120,331)}
   */
  public static String text(List<ValueErrors> errors) {
    return errors.stream()
            .limit(MOST_SHOWN)
            .map(one -> "of %s %s (MAE %s)".formatted(one.name, figure(one.rmse), figure(one.mae)))
            .collect(Collectors.joining(", ", "RMSE ", ""))
        + (errors.size() > MOST_SHOWN
            ? " and of %s more values".formatted(errors.size() - MOST_SHOWN)
            : "");
  }
}
