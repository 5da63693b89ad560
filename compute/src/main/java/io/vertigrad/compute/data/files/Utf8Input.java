package io.vertigrad.compute.data.files;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.SequenceInputStream;
import java.nio.charset.CharacterCodingException;

/**
 * A stream of bytes that must be UTF-8. A text that is read in another encoding has other words, or
 * one word where there were two, so the first byte that is wrong is an error. Not thread-safe.
 */
final class Utf8Input extends InputStream {

  private static final int BUFFER_BYTES = 1 << 13;

  /** What begins the text of another encoding; see {@link #isMarkedUtf16}. */
  private static final int MARK_BYTES = 4;

  private final InputStream in;
  private final byte[] buffer = new byte[BUFFER_BYTES];
  private int next;
  private int end;
  private long line = 1;
  private long position;

  /** The first byte of the current character, and its position from 0. */
  private int lead;

  private long leadPosition;

  /** Bytes of the current character that are still to come. */
  private int missing;

  /** The least and the most that the next byte of the current character may be. */
  private int least;

  private int most;

  /** A byte that is not UTF-8; its message says where it is and what to do. */
  static final class NotUtf8 extends CharacterCodingException {

    private static final long serialVersionUID = 1;

    private final long line;
    private final String found;

    NotUtf8(long line, String found) {
      this.line = line;
      this.found = found;
    }

    /** Returns the message for a file. */
    String of(Object file) {
      return "%s:%s: %s".formatted(file, line, found);
    }

    @Override
    public String getMessage() {
      return "line %s: %s".formatted(line, found);
    }
  }

  private Utf8Input(InputStream in) {
    this.in = in;
  }

  /**
   * Returns a stream of the same bytes that throws {@link NotUtf8} before the first wrong one.
   *
   * @param decodes whether the reader decodes UTF-16 that begins with a byte order mark; such text
   *     passes unchanged then
   * @throws NotUtf8 when the text is UTF-16, and is not decoded
   */
  static InputStream of(InputStream in, boolean decodes) throws IOException {
    byte[] first = in.readNBytes(MARK_BYTES);
    InputStream whole = new SequenceInputStream(new ByteArrayInputStream(first), in);
    boolean isMarked = isMarkedUtf16(first);
    if (isMarked && decodes) {
      return whole;
    }
    if (isMarked || first.length == MARK_BYTES && (first[0] == 0) != (first[1] == 0)) {
      String name = isMarked ? "UTF-16" : first[0] == 0 ? "UTF-16BE" : "UTF-16LE";
      throw new NotUtf8(1, "is %s, expected %s".formatted(name, advice(name)));
    }
    return new Utf8Input(whole);
  }

  private static boolean isMarkedUtf16(byte[] first) {
    return first.length >= 2
        && (first[0] == (byte) 0xfe && first[1] == (byte) 0xff
            || first[0] == (byte) 0xff && first[1] == (byte) 0xfe);
  }

  private static String advice(String encoding) {
    return "UTF-8, which `iconv -f %s -t UTF-8 FILE > NEWFILE` makes of it".formatted(encoding);
  }

  @Override
  public int read() throws IOException {
    return fill() ? buffer[next++] & 0xff : -1;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (!fill()) {
      return -1;
    }
    int count = Math.min(length, end - next);
    System.arraycopy(buffer, next, into, offset, count);
    next += count;
    return count;
  }

  private boolean fill() throws IOException {
    if (next < end) {
      return true;
    }
    next = 0;
    end = Math.max(0, in.read(buffer, 0, buffer.length));
    for (int i = 0; i < end; i++, position++) {
      check(buffer[i] & 0xff);
    }
    if (end == 0 && missing > 0) {
      throw wrong();
    }
    return end > 0;
  }

  /** Follows table 3-7 of the Unicode standard, as a decoder of Java does. */
  private void check(int value) throws NotUtf8 {
    if (missing > 0) {
      if (value < least || value > most) {
        throw wrong();
      }
      missing--;
      least = 0x80;
      most = 0xbf;
    } else if (value >= 0x80) {
      lead = value;
      leadPosition = position;
      if (value < 0xc2 || value > 0xf4) {
        throw wrong();
      }
      missing = value < 0xe0 ? 1 : value < 0xf0 ? 2 : 3;
      least = value == 0xe0 ? 0xa0 : value == 0xf0 ? 0x90 : 0x80;
      most = value == 0xed ? 0x9f : value == 0xf4 ? 0x8f : 0xbf;
    } else if (value == '\n') {
      line++;
    }
  }

  private NotUtf8 wrong() {
    return new NotUtf8(
        line,
        "found the byte 0x%02x, byte %s of the file, which is not UTF-8, expected %s; name its own encoding where it is not WINDOWS-1252"
            .formatted(lead, leadPosition + 1, advice("WINDOWS-1252")));
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
