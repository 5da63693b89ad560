package io.vertigrad.launcher.image;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.apache.commons.compress.archivers.tar.TarArchiveOutputStream;
import org.apache.commons.compress.archivers.tar.TarConstants;

/**
 * The files of one layer of an image. The same files give the same bytes: entries are sorted by
 * path, have one time, and belong to root unless another owner is named.
 */
final class Layer {

  private static final int FOLDER = 0755;
  private static final int FILE = 0644;
  private static final int PROGRAM = 0755;

  private final String name;
  private final Map<String, Item> items = new TreeMap<>();

  /**
   * Creates an empty layer.
   *
   * @param name what the layer holds, as the image's history shows it
   */
  Layer(String name) {
    this.name = name;
  }

  /** Returns what the layer holds. */
  String name() {
    return name;
  }

  /** Returns the paths of its files and links. */
  List<String> files() {
    return items.entrySet().stream()
        .filter(each -> each.getValue().kind != TarConstants.LF_DIR)
        .map(Map.Entry::getKey)
        .toList();
  }

  /** Adds a folder; its parents are added as folders that anybody can read. */
  void folder(String path, int mode, int owner) {
    put(path, new Item(TarConstants.LF_DIR, mode, owner, "", 0, InputStream::nullInputStream));
  }

  /** Adds a file with a text. */
  void text(String path, boolean program, String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    file(path, program, bytes.length, () -> new ByteArrayInputStream(bytes));
  }

  /** Adds a copy of a file. */
  void file(String path, boolean program, Path source) throws IOException {
    file(path, program, Files.size(source), () -> Files.newInputStream(source));
  }

  /** Adds a symbolic link. */
  void link(String path, String target) {
    put(path, new Item(TarConstants.LF_SYMLINK, 0777, 0, target, 0, InputStream::nullInputStream));
  }

  /** Adds all files, links and folders below a folder. */
  void tree(String path, Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path each : (Iterable<Path>) all::iterator) {
        String to = path + "/" + folder.relativize(each);
        if (Files.isSymbolicLink(each)) {
          link(to, Files.readSymbolicLink(each).toString());
        } else if (Files.isDirectory(each, LinkOption.NOFOLLOW_LINKS)) {
          folder(to, FOLDER, 0);
        } else {
          file(to, Files.isExecutable(each), each);
        }
      }
    }
  }

  /**
   * Adds the entries of a tar file. Their owner becomes root.
   *
   * @param rename returns the path in the layer, or null to leave an entry out
   */
  void tar(InputStream file, Function<String, String> rename) throws IOException {
    TarArchiveInputStream tar = new TarArchiveInputStream(new BufferedInputStream(file));
    for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
      String from = clean(entry.getName());
      String to = from.isEmpty() ? null : rename.apply(from);
      if (to == null) {
        continue;
      }
      switch (entry.getLinkFlag()) {
        case TarConstants.LF_DIR -> folder(to, entry.getMode() & 07777, 0);
        case TarConstants.LF_SYMLINK -> link(to, entry.getLinkName());
        case TarConstants.LF_NORMAL, TarConstants.LF_OLDNORM -> {
          byte[] bytes = tar.readAllBytes();
          boolean program = (entry.getMode() & 0111) != 0;
          file(to, program, bytes.length, () -> new ByteArrayInputStream(bytes));
        }
        case TarConstants.LF_LINK -> {
          Item same = items.get(String.valueOf(rename.apply(clean(entry.getLinkName()))));
          if (same == null) {
            throw new IOException(
                "%s: is a link to %s, which is not before it".formatted(from, entry.getLinkName()));
          }
          put(to, same);
        }
        default ->
            throw new IOException(
                "%s: found an entry of type '%c', expected files, folders and links"
                    .formatted(from, entry.getLinkFlag()));
      }
    }
  }

  /** Writes the layer as a compressed tar file. */
  Blob write(Path file, Instant time) throws IOException {
    HashingOutput packed = new HashingOutput(Files.newOutputStream(file));
    HashingOutput plain = new HashingOutput(new GZIPOutputStream(packed, 1 << 16));
    try (packed;
        plain) {
      writeTar(plain, time);
    }
    return new Blob(file, packed.digest(), plain.digest());
  }

  /** Writes the entries without compressing them. */
  void writeTar(OutputStream out, Instant time) throws IOException {
    TarArchiveOutputStream tar = new TarArchiveOutputStream(out, "UTF-8");
    tar.setLongFileMode(TarArchiveOutputStream.LONGFILE_POSIX);
    tar.setBigNumberMode(TarArchiveOutputStream.BIGNUMBER_POSIX);
    for (Map.Entry<String, Item> each : items.entrySet()) {
      Item item = each.getValue();
      boolean folder = item.kind == TarConstants.LF_DIR;
      TarArchiveEntry entry =
          new TarArchiveEntry(folder ? each.getKey() + "/" : each.getKey(), item.kind);
      entry.setMode(item.mode);
      entry.setIds(item.owner, item.owner);
      entry.setModTime(FileTime.from(time));
      entry.setSize(item.bytes);
      if (item.kind == TarConstants.LF_SYMLINK) {
        entry.setLinkName(item.target);
      }
      tar.putArchiveEntry(entry);
      try (InputStream content = item.content.open()) {
        content.transferTo(tar);
      }
      tar.closeArchiveEntry();
    }
    tar.finish();
  }

  private void file(String path, boolean program, long bytes, Content content) {
    put(path, new Item(TarConstants.LF_NORMAL, program ? PROGRAM : FILE, 0, "", bytes, content));
  }

  private void put(String path, Item item) {
    String at = clean(path);
    for (int slash = at.indexOf('/'); slash > 0; slash = at.indexOf('/', slash + 1)) {
      items.putIfAbsent(
          at.substring(0, slash),
          new Item(TarConstants.LF_DIR, FOLDER, 0, "", 0, InputStream::nullInputStream));
    }
    items.put(at, item);
  }

  /** Returns a path without {@code ./} before it and without a slash at either end. */
  private static String clean(String path) {
    return Path.of("/", path).normalize().toString().substring(1);
  }

  /** Opens what a file holds. */
  private interface Content {
    InputStream open() throws IOException;
  }

  private record Item(byte kind, int mode, int owner, String target, long bytes, Content content) {}
}
