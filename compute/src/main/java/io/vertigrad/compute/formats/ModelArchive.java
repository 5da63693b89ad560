package io.vertigrad.compute.formats;

import io.vertigrad.compute.data.DataException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Adds an entry to the zip file in which an engine has saved a model, and reads it again: beside
 * the others in a zip of DL4J or Keras, among the extra files in one of PyTorch ({@code .pt},
 * {@code .pt2}). A file that is not a zip has no entries.
 */
public final class ModelArchive {

  private static final String EXTRA = "extra/";
  private static final byte[] ZIP = {'P', 'K', 3, 4};

  private ModelArchive() {}

  /** Writes a file. */
  @FunctionalInterface
  public interface FileWriting {

    /**
     * Writes it.
     *
     * @param file path of a file that does not exist
     * @throws IOException when it cannot be written
     */
    void to(Path file) throws IOException;
  }

  /**
   * Writes a file completely or not at all: a temporary file with a unique name in the same folder,
   * so that several may be written to one path at once, is moved to the path.
   *
   * @param file the path
   * @param writing writes the temporary file
   * @throws IOException when it cannot be written or moved
   */
  public static void replace(Path file, FileWriting writing) throws IOException {
    Path part = file.resolveSibling("%s.%s.part".formatted(file.getFileName(), UUID.randomUUID()));
    try {
      writing.to(part);
      Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(part);
    }
  }

  /**
   * Adds an entry; a file that is not a zip stays unchanged.
   *
   * @param file a model's file
   * @param name of the entry
   * @param text its bytes
   * @throws IOException when the file cannot be read or written
   */
  public static void add(Path file, String name, byte[] text) throws IOException {
    if (!isZip(file)) {
      return;
    }
    Optional<String> root = root(file);
    if (root.isPresent()) {
      addToScript(file, root.get() + EXTRA + name, text);
      return;
    }
    try (FileSystem zip = FileSystems.newFileSystem(file, Map.of())) {
      Files.write(zip.getPath(name), text);
    }
  }

  /**
   * Reads an entry that {@link #add} has added.
   *
   * @param file a model's file
   * @param name of the entry
   * @param mostBytes its largest length
   * @return empty if there is none, or the file is damaged; the engine reports that
   * @throws DataException when the entry is longer
   */
  public static Optional<byte[]> read(Path file, String name, int mostBytes) {
    try {
      if (!isZip(file)) {
        return Optional.empty();
      }
      try (ZipFile zip = new ZipFile(file.toFile())) {
        Optional<? extends ZipEntry> found =
            zip.stream().filter(entry -> isNamed(entry.getName(), name)).findFirst();
        if (found.isEmpty()) {
          return Optional.empty();
        }
        try (InputStream in = zip.getInputStream(found.get())) {
          byte[] bytes = in.readNBytes(mostBytes + 1);
          if (bytes.length > mostBytes) {
            throw new DataException(
                String.format(
                    Locale.ROOT, "%s: its %s has more than %,d bytes", file, name, mostBytes));
          }
          return Optional.of(bytes);
        }
      }
    } catch (IOException damaged) {
      return Optional.empty();
    }
  }

  private static boolean isNamed(String entry, String name) {
    int folder = entry.indexOf('/');
    return entry.equals(name) || folder > 0 && entry.substring(folder + 1).equals(EXTRA + name);
  }

  /**
   * Copies the zip with the entry added: PyTorch's readers expect uncompressed entries below one
   * folder.
   */
  private static void addToScript(Path file, String name, byte[] text) throws IOException {
    replace(
        file,
        copy -> {
          try (ZipFile zip = new ZipFile(file.toFile());
              OutputStream out = Files.newOutputStream(copy);
              ZipOutputStream target = new ZipOutputStream(out)) {
            for (ZipEntry entry : Collections.list(zip.entries())) {
              if (!entry.getName().equals(name)) {
                ZipEntry same = entry(entry.getName());
                same.setMethod(ZipEntry.STORED);
                same.setSize(entry.getSize());
                same.setCrc(entry.getCrc());
                target.putNextEntry(same);
                try (InputStream in = zip.getInputStream(entry)) {
                  in.transferTo(target);
                }
                target.closeEntry();
              }
            }
            target.putNextEntry(entry(name));
            target.write(text);
            target.closeEntry();
          }
        });
  }

  /** Returns an entry without a date: the same model is written as the same bytes. */
  private static ZipEntry entry(String name) {
    ZipEntry entry = new ZipEntry(name);
    entry.setTimeLocal(LocalDateTime.of(1980, 1, 1, 0, 0));
    return entry;
  }

  /** Returns the folder of all entries of a file of PyTorch; empty for another zip. */
  private static Optional<String> root(Path file) throws IOException {
    try (ZipFile zip = new ZipFile(file.toFile())) {
      return zip.stream()
          .map(ZipEntry::getName)
          .filter(name -> name.matches("[^/]+/(data\\.pkl|archive_format)"))
          .findFirst()
          .map(name -> name.substring(0, name.indexOf('/') + 1));
    }
  }

  private static boolean isZip(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return Arrays.equals(in.readNBytes(ZIP.length), ZIP);
    }
  }
}
