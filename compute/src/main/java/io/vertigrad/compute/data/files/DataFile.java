package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataException;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * One file of a data set, raw or {@code .gz}, read from front to back.
 *
 * <p>Every error is a {@link DataException} that names the file. Not thread-safe.
 */
final class DataFile implements AutoCloseable {

  /** DEFLATE cannot expand a byte to more than this many (zlib's documentation: 1032 to 1). */
  private static final int LARGEST_EXPANSION = 1032;

  private static final int BUFFER_BYTES = 1 << 16;
  private static final int MEBIBYTE = 1 << 20;

  /** Content is in memory twice while it is read, and training needs memory, too. */
  private static final int HEAP_PARTS = 4;

  private final Path path;
  private final boolean compressed;
  private final long mostBytes;
  private final InputStream in;
  private long position;

  private DataFile(Path path, boolean compressed, long fileBytes, InputStream in) {
    this.path = path;
    this.compressed = compressed;
    this.mostBytes = compressed ? Math.multiplyExact(fileBytes, LARGEST_EXPANSION) : fileBytes;
    this.in = in;
  }

  static DataFile open(Path path) {
    boolean compressed = path.getFileName().toString().endsWith(".gz");
    try {
      long bytes = Files.size(path);
      InputStream raw = Files.newInputStream(path);
      try {
        InputStream in =
            compressed ? new GZIPInputStream(raw, BUFFER_BYTES) : new BufferedInputStream(raw);
        return new DataFile(path, compressed, bytes, in);
      } catch (IOException e) {
        raw.close();
        throw e;
      }
    } catch (IOException e) {
      throw failure(path, e);
    }
  }

  Path path() {
    return path;
  }

  /** Returns the rest of the content as a stream; pass errors from it to {@link #failure}. */
  InputStream stream() {
    return in;
  }

  /**
   * Returns the rest of the content as a stream that throws at the first byte that is not UTF-8,
   * except in UTF-16 with a byte order mark; pass errors from it to {@link #failure}.
   */
  InputStream text() {
    try {
      return Utf8Input.of(in, true);
    } catch (IOException e) {
      throw failure(path, e);
    }
  }

  /** Reads exactly {@code length} bytes; {@code what} names them in errors. */
  byte[] read(long length, String what) {
    long from = position;
    if (length > mostBytes - from || length > Integer.MAX_VALUE - BUFFER_BYTES) {
      throw truncated(what, from, length, "at most " + (mostBytes - from));
    }
    requireHeap(length, what, Runtime.getRuntime().maxMemory());
    byte[] bytes = readUpTo((int) length);
    if (bytes.length < length) {
      throw truncated(what, from, length, String.valueOf(bytes.length));
    }
    return bytes;
  }

  /**
   * Refuses content that does not fit into the heap, because a JVM that runs out of memory ends.
   */
  void requireHeap(long length, String what, long heapBytes) {
    if (length > heapBytes / HEAP_PARTS) {
      throw new DataException(
          "%s: %s are %s MiB, expected at most %s, a quarter of the heap: give this JVM more with"
                  .formatted(path, what, length / MEBIBYTE, heapBytes / HEAP_PARTS / MEBIBYTE)
              + " VERTIGRAD_JAVA_OPTS=-Xmx%sm".formatted(HEAP_PARTS * (length / MEBIBYTE + 1)));
    }
  }

  /** Reads all bytes to the end, at most {@code most} and at most a quarter of the heap. */
  byte[] readAll(int most) {
    return readAll(most, Runtime.getRuntime().maxMemory());
  }

  byte[] readAll(int most, long heapBytes) {
    long fits = heapBytes / HEAP_PARTS;
    if (fits >= most) {
      byte[] bytes = readUpTo(most);
      expectEnd(most);
      return bytes;
    }
    byte[] bytes = readUpTo((int) fits + 1);
    if (bytes.length > fits) {
      throw new DataException(
          "%s: holds more than %s MiB, a quarter of the heap; give this JVM a larger one with"
                  .formatted(path, fits / MEBIBYTE)
              + " VERTIGRAD_JAVA_OPTS=-Xmx...");
    }
    return bytes;
  }

  /** Refuses any content after the bytes that were read. */
  void expectEnd(long expected) {
    if (readUpTo(1).length > 0) {
      throw new DataException(
          "%s: holds %s bytes, expected %s and nothing behind them"
              .formatted(path, compressed ? "more than " + expected : mostBytes, expected));
    }
  }

  @Override
  public void close() {
    try {
      in.close();
    } catch (IOException e) {
      throw failure(path, e);
    }
  }

  private byte[] readUpTo(int length) {
    try {
      byte[] bytes = in.readNBytes(length);
      position += bytes.length;
      return bytes;
    } catch (IOException e) {
      throw failure(path, e);
    }
  }

  private DataException truncated(String what, long from, long length, String found) {
    return new DataException(
        "%s: truncated or damaged: %s bytes of %s behind offset %s, expected %s"
            .formatted(path, found, what, from, length));
  }

  /** Returns the error for the user when reading {@code path} has failed. */
  static DataException failure(Path path, IOException cause) {
    if (cause instanceof Utf8Input.NotUtf8 wrong) {
      return new DataException(wrong.of(path), cause);
    }
    if (cause instanceof ZipException || cause instanceof EOFException) {
      return new DataException(
          "%s: corrupt gzip (%s), expected a complete .gz file; fetch it again"
              .formatted(path, cause.getMessage()),
          cause);
    }
    return new DataException("%s: cannot be read: %s".formatted(path, cause), cause);
  }
}
