package io.vertigrad.compute.data;

import io.vertigrad.compute.settings.Settings;

/**
 * How numbers are written as text, in files, in messages and on the command line: ASCII digits,
 * with an optional sign, decimal mark and exponent.
 *
 * <pre>
 * number   = [ "+" | "-" ] ( digits [ mark [ digits ] ] | mark digits ) [ exponent ]
 * exponent = ( "e" | "E" ) [ "+" | "-" ] digits
 * digits   = ( "0" ... "9" ) { "0" ... "9" }
 * </pre>
 *
 * <p>Spaces and tabs around a number are ignored. Everything else is not a number: suffixes ({@code
 * 7d}), hexadecimal digits, {@code NaN}, {@code Infinity}, grouped digits ({@code 1,234}, {@code
 * 1_234}, {@code 1 234}) and digits of other scripts.
 */
public enum DecimalNotation {
  /** The decimal mark is a point, as in {@code 3.14}. */
  POINT('.'),
  /** The decimal mark is a comma, as in {@code 3,14}. */
  COMMA(',');

  private static final String OPTION = "decimal";

  private static final int EXACT_DIGITS = 15;

  private static final double[] POWERS = {
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14
  };

  private final char mark;

  DecimalNotation(char mark) {
    this.mark = mark;
  }

  /** Reads the option {@code decimal}: {@code .} (default) or {@code ,}. */
  public static DecimalNotation of(Settings options) {
    String found = options.string(OPTION, ".");
    if (!found.equals(".") && !found.equals(",")) {
      throw options.refuse(
          OPTION, "is \"%s\", expected the decimal mark, \".\" or \",\"".formatted(found));
    }
    return found.equals(",") ? COMMA : POINT;
  }

  /** Returns the character between the whole part and the fraction. */
  public char mark() {
    return mark;
  }

  /**
   * Returns the value of a number.
   *
   * @return the double nearest to the number; NaN if the text is not a number, or is a number
   *     beyond the range of doubles
   */
  public double parse(String text) {
    double exact = parseShort(text);
    if (!Double.isNaN(exact)) {
      return exact;
    }
    if (!matches(text)) {
      return Double.NaN;
    }
    double value = Double.parseDouble(mark == '.' ? text : text.replace(mark, '.'));
    return Double.isInfinite(value) ? Double.NaN : value;
  }

  /**
   * Returns the value of a number without spaces and exponent, whose digits are at most {@value
   * #EXACT_DIGITS}: one division of two exact doubles rounds as the number itself.
   *
   * @return NaN if the text is something else
   */
  private double parseShort(String text) {
    int length = text.length();
    int at = length > 0 && text.charAt(0) == '-' ? 1 : 0;
    boolean negative = at == 1;
    if (length == at || length > EXACT_DIGITS + at) {
      return Double.NaN;
    }
    long digits = 0;
    int point = -1;
    for (; at < length; at++) {
      char found = text.charAt(at);
      if (found >= '0' && found <= '9') {
        digits = 10 * digits + (found - '0');
      } else if (found == mark && point < 0 && length > 2) {
        point = at;
      } else {
        return Double.NaN;
      }
    }
    double value = point < 0 ? digits : digits / POWERS[length - 1 - point];
    return negative ? -value : value;
  }

  /** Returns whether a text follows the notation; its value may be beyond the range of doubles. */
  public boolean matches(String text) {
    int from = 0;
    int to = text.length();
    while (from < to && isBlank(text.charAt(from))) {
      from++;
    }
    while (to > from && isBlank(text.charAt(to - 1))) {
      to--;
    }
    int whole = afterSign(text, from, to);
    int at = afterDigits(text, whole, to);
    int digits = at - whole;
    if (at < to && text.charAt(at) == mark) {
      int fraction = at + 1;
      at = afterDigits(text, fraction, to);
      digits += at - fraction;
    }
    if (digits == 0) {
      return false;
    }
    if (at < to && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
      int exponent = afterSign(text, at + 1, to);
      at = afterDigits(text, exponent, to);
      if (at == exponent) {
        return false;
      }
    }
    return at == to;
  }

  private static boolean isBlank(char found) {
    return found == ' ' || found == '\t';
  }

  private static int afterSign(String text, int from, int to) {
    return from < to && (text.charAt(from) == '+' || text.charAt(from) == '-') ? from + 1 : from;
  }

  private static int afterDigits(String text, int from, int to) {
    int at = from;
    while (at < to && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
      at++;
    }
    return at;
  }
}
