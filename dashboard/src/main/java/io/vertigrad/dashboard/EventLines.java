package io.vertigrad.dashboard;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;

/**
 * Reads the lines of an {@code events.jsonl}, and single values of a line without parsing the rest:
 * the curves of a hundred runs need three numbers of each of a million lines.
 *
 * <p>It expects lines as events are written: one object, without spaces, {@code type} first. Skips
 * any other line, such as an incomplete last one. Values are looked for from the last one on, so
 * ask for them in the order in which they are written.
 */
final class EventLines {

  /** A longer line holds no figures. */
  private static final int BUFFER_BYTES = 256 * 1024;

  private static final byte[] BEGIN = "{\"type\":\"".getBytes(UTF_8);

  /** Numbers from here on have all the digits that a double can hold. */
  private static final long MOST_DIGITS = 100_000_000_000_000_000L;

  private static final int MOST_EXPONENT = 1_000;

  /** The powers of ten that a double holds exactly. */
  private static final double[] POWERS = new double[23];

  static {
    for (int i = 0; i < POWERS.length; i++) {
      POWERS[i] = Double.parseDouble("1e" + i);
    }
  }

  private static final long ONES = 0x0101010101010101L;
  private static final long LINE_ENDS = '\n' * ONES;
  private static final long HIGH_BITS = 0x80 * ONES;

  private final byte[] buffer = new byte[BUFFER_BYTES];
  private final ByteBuffer words = ByteBuffer.wrap(buffer).order(ByteOrder.LITTLE_ENDIAN);
  private int from;
  private int end;
  private int next;

  private EventLines() {}

  /** A name in an event, to be looked for: a type, or the key of a value. */
  record Name(byte[] bytes) {

    /** Returns a type of events. */
    static Name type(String type) {
      return new Name((type + "\"").getBytes(UTF_8));
    }

    /** Returns the key of a value. */
    static Name value(String key) {
      return new Name(("\"" + key + "\":").getBytes(UTF_8));
    }
  }

  /**
   * Passes every line to an action, in order. The action must not keep the object that it receives.
   */
  static void forEach(Path events, Consumer<EventLines> action) throws IOException {
    try (InputStream in = Files.newInputStream(events)) {
      new EventLines().read(in, action);
    }
  }

  private void read(InputStream in, Consumer<EventLines> action) throws IOException {
    int filled = 0;
    boolean tooLong = false;
    int read = in.read(buffer);
    while (read >= 0) {
      int start = 0;
      int stop = filled + read;
      for (int line = lineEnd(filled, stop); line < stop; line = lineEnd(start, stop)) {
        if (!tooLong) {
          pass(start, line, action);
        }
        tooLong = false;
        start = line + 1;
      }
      filled = stop - start;
      System.arraycopy(buffer, start, buffer, 0, filled);
      if (filled == buffer.length) {
        tooLong = true;
        filled = 0;
      }
      read = in.read(buffer, filled, buffer.length - filled);
    }
    if (!tooLong) {
      pass(0, filled, action);
    }
  }

  /** Returns the index of the next line end, or {@code stop}; looks at eight bytes at a time. */
  private int lineEnd(int start, int stop) {
    int i = start;
    for (; i <= stop - Long.BYTES; i += Long.BYTES) {
      long others = words.getLong(i) ^ LINE_ENDS;
      long zeros = (others - ONES) & ~others & HIGH_BITS;
      if (zeros != 0) {
        return i + Long.numberOfTrailingZeros(zeros) / Byte.SIZE;
      }
    }
    while (i < stop && buffer[i] != '\n') {
      i++;
    }
    return i;
  }

  private void pass(int start, int stop, Consumer<EventLines> action) {
    from = start;
    end = stop;
    next = start + BEGIN.length;
    if (stop - start > BEGIN.length && at(BEGIN, start) && buffer[stop - 1] == '}') {
      action.accept(this);
    }
  }

  /** Returns whether the event is of this type. */
  boolean is(Name type) {
    return at(type.bytes(), from + BEGIN.length);
  }

  /** Returns whether a value is true. */
  boolean isTrue(Name key) {
    int at = find(key);
    return at >= 0 && buffer[at] == 't';
  }

  /** Returns a whole number; 0 if there is none. */
  long whole(Name key) {
    int at = find(key);
    if (at < 0) {
      return 0;
    }
    boolean negative = buffer[at] == '-';
    long value = 0;
    int i = negative ? at + 1 : at;
    for (; i < end && isDigit(buffer[i]); i++) {
      value = 10 * value + buffer[i] - '0';
    }
    next = i;
    return negative ? -value : value;
  }

  /**
   * Returns a number, exact to 15 digits; 0 if there is none, NaN if it is not finite or damaged.
   *
   * <p>{@code Double.parseDouble} is exact to the last bit, which no curve shows, and takes half of
   * the time of reading a run.
   */
  double number(Name key) {
    int at = find(key);
    if (at < 0) {
      return 0;
    }
    boolean negative = buffer[at] == '-';
    long digits = 0;
    int exponent = 0;
    int fraction = 0;
    int i = negative ? at + 1 : at;
    for (; i < end && (isDigit(buffer[i]) || buffer[i] == '.'); i++) {
      if (buffer[i] == '.') {
        fraction = 1;
      } else if (digits < MOST_DIGITS) {
        digits = 10 * digits + buffer[i] - '0';
        exponent -= fraction;
      } else {
        exponent += 1 - fraction;
      }
    }
    next = i;
    if (buffer[i] == 'E') {
      exponent += exponent(i + 1);
    } else if (buffer[i] != ',' && buffer[i] != '}') {
      return Double.NaN;
    }
    double value = exponent < 0 ? digits / power(-exponent) : digits * power(exponent);
    return negative ? -value : value;
  }

  private int exponent(int at) {
    boolean negative = buffer[at] == '-';
    int value = 0;
    for (int i = negative ? at + 1 : at; i < end && isDigit(buffer[i]); i++) {
      value = Math.min(10 * value + buffer[i] - '0', MOST_EXPONENT);
    }
    return negative ? -value : value;
  }

  private static double power(int exponent) {
    return exponent < POWERS.length ? POWERS[exponent] : Math.pow(10, exponent);
  }

  private static boolean isDigit(byte character) {
    return character >= '0' && character <= '9';
  }

  /** Returns a text without escapes that is after the last value; empty if there is none. */
  String text(Name key) {
    int at = find(key.bytes(), next, end);
    if (at < 0 || buffer[at] != '"') {
      return "";
    }
    int stop = at + 1;
    while (stop < end && buffer[stop] != '"') {
      stop++;
    }
    next = stop;
    return new String(buffer, at + 1, stop - at - 1, UTF_8);
  }

  /**
   * Returns the index of a value, or -1. Quotes within texts are escaped, so no text holds a key.
   */
  private int find(Name key) {
    int found = find(key.bytes(), next, end);
    return found >= 0 ? found : find(key.bytes(), from, next);
  }

  private int find(byte[] key, int start, int stop) {
    byte[] bytes = buffer;
    byte second = key[1];
    int last = stop - key.length;
    for (int i = start; i < last; i++) {
      if (bytes[i] == '"' && bytes[i + 1] == second && at(key, i)) {
        return i + key.length;
      }
    }
    return -1;
  }

  private boolean at(byte[] expected, int index) {
    if (index + expected.length > end) {
      return false;
    }
    for (int i = 0; i < expected.length; i++) {
      if (buffer[index + i] != expected[i]) {
        return false;
      }
    }
    return true;
  }
}
