package io.vertigrad.launcher;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Comparator;
import java.util.List;
import java.util.function.LongPredicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Names the folders into which Vert.x unpacks the files that it serves from the class path. Vert.x
 * removes its folder when it closes, but a killed process leaves it behind. The folder's name
 * therefore contains the process id, and a later process removes it.
 */
final class CacheFolders {

  /** The Vert.x property for the start of the folder's path; Vert.x appends a random suffix. */
  private static final String PROPERTY = "vertx.cacheDirBase";

  private static final String PREFIX = "vertigrad-cache-";
  private static final Pattern NAME = Pattern.compile(PREFIX + "(\\d{1,10})-.*");

  private CacheFolders() {}

  /** Sets the folder's name. Call it before any class of Vert.x is used. */
  static void prepare() {
    if (System.getProperty(PROPERTY) == null) {
      Path temporary = Path.of(System.getProperty("java.io.tmpdir"));
      String name = PREFIX + ProcessHandle.current().pid();
      System.setProperty(PROPERTY, temporary.resolve(name).toString());
      removeLeftovers(temporary, number -> ProcessHandle.of(number).isPresent(), Instant.now());
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
