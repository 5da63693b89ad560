package io.vertigrad.launcher.doctor;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Checks that Java is new enough and 64-bit, and names an installed one that starts faster. */
final class JavaCheck implements Check {

  private static final int LEAST = 17;

  /** The first Java whose class archive also has linked classes and the profiles of methods. */
  private static final int AOT_CACHES = 25;

  private static final Pattern VERSION = Pattern.compile("JAVA_VERSION=\"(\\d+)");

  @Override
  public List<CheckResult> run() {
    String found =
        "%s %s (%s)"
            .formatted(
                System.getProperty("java.vm.name"),
                System.getProperty("java.vm.version"),
                System.getProperty("os.arch"));
    if (Runtime.version().feature() < LEAST) {
      return List.of(CheckResult.fail("Java", found, "install JDK 17 or newer, and set JAVA_HOME"));
    }
    if (!System.getProperty("os.arch").endsWith("64")) {
      return List.of(CheckResult.fail("Java", found, "install a 64-bit JDK"));
    }
    String faster =
        faster(Runtime.version().feature(), Path.of(System.getProperty("java.home")).getParent())
            .map(home -> "; Java %s starts faster: JAVA_HOME=%s".formatted(version(home), home))
            .orElse("");
    return List.of(CheckResult.ok("Java", found + faster));
  }

  /**
   * Returns the newest Java in a folder of several that starts training faster than the running
   * one; empty where none does, or where the folder cannot be read.
   */
  static Optional<Path> faster(int running, Path folder) {
    if (running >= AOT_CACHES || folder == null) {
      return Optional.empty();
    }
    try (Stream<Path> homes = Files.list(folder)) {
      return homes
          .filter(home -> Files.isExecutable(home.resolve("bin/java")))
          .filter(home -> version(home) >= AOT_CACHES)
          .max(Comparator.comparingInt(JavaCheck::version).thenComparing(Path::toString));
    } catch (IOException unreadable) {
      return Optional.empty();
    }
  }

  private static int version(Path home) {
    try {
      Matcher version = VERSION.matcher(Files.readString(home.resolve("release")));
      return version.find() ? Integer.parseInt(version.group(1)) : 0;
    } catch (IOException noJava) {
      return 0;
    }
  }
}
