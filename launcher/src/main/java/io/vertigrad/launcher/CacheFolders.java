package io.vertigrad.launcher;

import io.vertigrad.launcher.job.InputException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFileAttributes;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names the folders into which libraries unpack files: Vert.x those that it serves from the class
 * path, others their native code. Vert.x removes its folder when it closes, but a killed process
 * leaves it behind. The folder's name therefore contains the process id, and a later process
 * removes it.
 */
final class CacheFolders {

  /** The Vert.x property for the start of the folder's path; Vert.x appends a random suffix. */
  private static final String PROPERTY = "vertx.cacheDirBase";

  private static final String PREFIX = "vertigrad-cache-";
  private static final Pattern NAME = Pattern.compile(PREFIX + "(\\d{1,10})-.*");

  private static final String HOME = "user.home";
  private static final String USER = "unix:uid";

  /** Properties of JavaCPP and of JNA for what they unpack, and names of folders for it. */
  private static final Map<String, String> NATIVES =
      Map.of("org.bytedeco.javacpp.cachedir", ".javacpp/cache", "jna.tmpdir", ".cache/JNA");

  private static final Set<PosixFilePermission> PRIVATE =
      PosixFilePermissions.fromString("rwx------");

  private CacheFolders() {}

  /**
   * Sets the names of the folders. Call it before any class of Vert.x or of a native library is
   * used.
   *
   * @throws InputException when the user has no home folder, and none can be made
   */
  static void prepare() {
    prepareHome(Path.of(System.getProperty("java.io.tmpdir")), System.getenv("HOME"));
    if (System.getProperty(PROPERTY) == null) {
      Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
      String name = PREFIX + ProcessHandle.current().pid();
      System.setProperty(PROPERTY, temporary.resolve(name).toString());
      removeLeftovers(temporary, number -> ProcessHandle.of(number).isPresent(), Instant.now());
    }
  }

  /**
   * Gives this process a folder for native libraries and the user's secret where the user has no
   * home folder that it can write to. Java's name for an unknown home is {@code ?}.
   *
   * @param temporary where a folder may be made that no other user can read or write
   * @param ofEnvironment a home folder that Java may not know; null if there is none
   */
  static void prepareHome(Path temporary, String ofEnvironment) {
    String known = System.getProperty(HOME);
    if (isWritable(known)) {
      return;
    }
    if (isWritable(ofEnvironment)) {
      System.setProperty(HOME, ofEnvironment);
      return;
    }
    Path folder = privateFolder(temporary, known);
    if (known == null || !isFolder(known)) {
      System.setProperty(HOME, folder.toString());
    }
    NATIVES.forEach(
        (property, name) -> {
          if (System.getProperty(property) == null) {
            System.setProperty(property, folder.resolve(name).toString());
          }
        });
  }

  private static boolean isFolder(String path) {
    return Path.of(path).isAbsolute() && Files.isDirectory(Path.of(path));
  }

  private static boolean isWritable(String path) {
    return path != null && isFolder(path) && Files.isWritable(Path.of(path));
  }

  /** Makes the user's folder below the temporary one, or takes it if nobody else can change it. */
  private static Path privateFolder(Path temporary, String home) {
    try {
      Path probe = Files.createTempFile(temporary, "vertigrad-", "");
      Object user = Files.getAttribute(probe, USER);
      Files.delete(probe);
      Path folder = temporary.resolve("vertigrad-home-" + user);
      if (!Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
        createPrivate(folder);
      }
      PosixFileAttributes found =
          Files.readAttributes(folder, PosixFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
      if (!found.isDirectory()
          || !user.equals(Files.getAttribute(folder, USER, LinkOption.NOFOLLOW_LINKS))
          || !found.permissions().equals(PRIVATE)) {
        throw new InputException(
            "%s: expected a folder that only this user can read, for native libraries, because the home folder %s cannot be written: remove it, or set HOME to a folder of yours"
                .formatted(folder, home));
      }
      return folder;
    } catch (IOException | UnsupportedOperationException e) {
      throw new InputException(
          "neither the home folder %s nor the temporary folder %s can be written (%s): set HOME to a folder of yours"
              .formatted(home, temporary, e),
          e);
    }
  }

  private static void createPrivate(Path folder) throws IOException {
    try {
      Files.createDirectory(folder, PosixFilePermissions.asFileAttribute(PRIVATE));
    } catch (FileAlreadyExistsException another) {
      // Another process of this user may have made it now; the caller looks at it.
    }
  }

  /**
   * Removes the folders of processes that no longer run. Folders younger than an hour stay: a
   * container that shares the temporary folder has its own process ids.
   */
  static void removeLeftovers(Path temporary, LongPredicate lives, Instant now) {
    Instant young = now.minus(1, ChronoUnit.HOURS);
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(temporary, PREFIX + "*")) {
      for (Path folder : folders) {
        Matcher name = NAME.matcher(folder.getFileName().toString());
        if (name.matches()
            && !lives.test(Long.parseLong(name.group(1)))
            && Files.getLastModifiedTime(folder).toInstant().isBefore(young)) {
          remove(folder);
        }
      }
    } catch (IOException | UncheckedIOException inUse) {
      log().debug("folders of earlier processes stay: {}", inUse.toString());
    }
  }

  private static void remove(Path folder) throws IOException {
    List<Path> deepestFirst;
    try (Stream<Path> all = Files.walk(folder)) {
      deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path each : deepestFirst) {
      Files.deleteIfExists(each);
    }
  }

  private static Logger log() {
    return LoggerFactory.getLogger(CacheFolders.class);
  }
}
