package io.vertigrad.launcher.doctor;

import java.util.List;

/** Checks that Java is new enough and 64-bit. */
final class JavaCheck implements Check {

  private static final int LEAST = 17;

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
    return List.of(CheckResult.ok("Java", found));
  }
}
