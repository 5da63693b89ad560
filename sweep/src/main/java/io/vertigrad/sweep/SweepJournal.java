package io.vertigrad.sweep;

import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.DecodeException;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The file of what a sweep has decided and learned, one JSON object per line. Lines are only
 * appended, and each is on the disk before its caller goes on. A last line that was cut short by a
 * crash is removed when the file is opened. One process at a time has it open. Not thread-safe.
 */
final class SweepJournal implements AutoCloseable {

  private final Path file;
  private final FileChannel channel;
  private final List<JsonObject> lines;

  private SweepJournal(Path file, FileChannel channel, List<JsonObject> lines) {
    this.file = file;
    this.channel = channel;
    this.lines = lines;
  }

  /**
   * Creates the file.
   *
   * @throws SettingsException when it exists or cannot be created
   */
  static SweepJournal create(Path file) {
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
      FileChannel channel =
          FileChannel.open(
              file,
              StandardOpenOption.CREATE_NEW,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE);
      lock(file, channel);
      return new SweepJournal(file, channel, new ArrayList<>());
    } catch (IOException e) {
      throw new SettingsException(
          "%s: the sweep's journal cannot be created (%s), expected a new name and a folder that can"
                  .formatted(file, e)
              + " be written",
          e);
    }
  }

  /**
   * Opens the file of a sweep that was started before.
   *
   * @throws SettingsException when it is missing, another process has it open, or a whole line of
   *     it is not JSON
   */
  static SweepJournal open(Path file) {
    if (!Files.isRegularFile(file)) {
      throw new SettingsException(
          "%s: there is no such file, expected the folder of a sweep".formatted(file));
    }
    try {
      FileChannel channel =
          FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
      try {
        lock(file, channel);
        List<JsonObject> lines = read(file, channel);
        channel.position(channel.size());
        return new SweepJournal(file, channel, lines);
      } catch (IOException | RuntimeException e) {
        channel.close();
        throw e;
      }
    } catch (IOException e) {
      throw new SettingsException("%s: cannot be read: %s".formatted(file, e), e);
    }
  }

  private static void lock(Path file, FileChannel channel) throws IOException {
    boolean free;
    try {
      free = channel.tryLock() != null;
    } catch (OverlappingFileLockException here) {
      free = false;
    }
    if (!free) {
      throw new SettingsException(
          "%s: another process runs this sweep, expected one at a time; end that one first"
              .formatted(file));
    }
  }

  /** Reads all whole lines, and cuts off the beginning of one that was not written to its end. */
  private static List<JsonObject> read(Path file, FileChannel channel) throws IOException {
    // Through the same channel: to close another one of this file would release the lock.
    ByteBuffer content = ByteBuffer.allocate(Math.toIntExact(channel.size()));
    while (content.hasRemaining() && channel.read(content, content.position()) >= 0) {
      // A read may return a part.
    }
    byte[] bytes = Arrays.copyOf(content.array(), content.position());
    List<JsonObject> lines = new ArrayList<>();
    int start = 0;
    for (int i = 0; i < bytes.length; i++) {
      if (bytes[i] == '\n') {
        String line = new String(bytes, start, i - start, StandardCharsets.UTF_8);
        try {
          lines.add(new JsonObject(line));
        } catch (DecodeException e) {
          throw new SettingsException(
              "%s: line %s is not JSON, expected what the sweep wrote there; copy the file again"
                  .formatted(file, lines.size() + 1),
              e);
        }
        start = i + 1;
      }
    }
    if (start < bytes.length) {
      channel.truncate(start);
      channel.force(true);
    }
    return lines;
  }

  /** Returns the lines that the file had when it was opened. */
  List<JsonObject> lines() {
    return lines;
  }

  /**
   * Appends a line.
   *
   * @throws UncheckedIOException when it cannot be written
   */
  void append(JsonObject line) {
    try {
      ByteBuffer bytes = ByteBuffer.wrap((line.encode() + "\n").getBytes(StandardCharsets.UTF_8));
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
      channel.force(true);
    } catch (IOException e) {
      throw new UncheckedIOException(
          "%s: cannot be written: %s; make room there, then resume the sweep".formatted(file, e),
          e);
    }
  }

  @Override
  public void close() {
    try {
      channel.close();
    } catch (IOException e) {
      throw new UncheckedIOException(file + ": cannot be closed: " + e, e);
    }
  }
}
