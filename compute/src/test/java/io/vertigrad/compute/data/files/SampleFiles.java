package io.vertigrad.compute.data.files;

import io.vertigrad.compute.data.DataConfig;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import java.util.zip.GZIPOutputStream;

/** Small files in the real formats, written for one test. */
final class SampleFiles {

  private SampleFiles() {}

  /** Returns IDX images with these pixels and the given header. */
  static byte[] images(int magic, int count, int rows, int columns, byte... pixels) {
    return ByteBuffer.allocate(16 + pixels.length)
        .putInt(magic)
        .putInt(count)
        .putInt(rows)
        .putInt(columns)
        .put(pixels)
        .array();
  }

  /** Returns IDX labels with the given header. */
  static byte[] labels(int magic, int count, byte... labels) {
    return ByteBuffer.allocate(8 + labels.length).putInt(magic).putInt(count).put(labels).array();
  }

  static byte[] gzip(byte[] content) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (GZIPOutputStream gzip = new GZIPOutputStream(out)) {
      gzip.write(content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }

  static Path write(Path file, byte[] content) {
    try {
      Files.createDirectories(file.getParent());
      return Files.write(file, content);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static DataConfig in(String name, Path directory, Map<String, Object> options) {
    return new DataConfig(name, Optional.of(directory), Optional.empty(), options);
  }
}
