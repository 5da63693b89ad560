package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Finds the published data sets on this machine, if they are there. */
final class RealData {

  private static final String HINT = "name the folder above it with -Dvertigrad.data=DIR";

  private RealData() {}

  /**
   * Returns a subfolder of the folder named by the system property {@code vertigrad.data}; skips
   * the test if there is none.
   */
  static Path folder(String subfolder) {
    String parent = System.getProperty("vertigrad.data", "");
    assumeFalse(parent.isBlank(), "skipped: no folder of " + subfolder + " is named; " + HINT);
    Path folder = Path.of(parent, subfolder);
    assumeTrue(Files.isDirectory(folder), "skipped: no folder " + folder + "; " + HINT);
    return folder;
  }
}
