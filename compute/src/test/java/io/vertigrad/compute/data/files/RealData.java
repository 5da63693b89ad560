package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Finds the published data sets on this machine, if they are there. */
final class RealData {

  private static final String HINT =
      "name the folder above it with -Dvertigrad.data=DIR or the environment variable VERTIGRAD_DATA";

  private RealData() {}

  /**
   * Returns a subfolder of the folder named by the system property {@code vertigrad.data}, or else
   * by the environment variable {@code VERTIGRAD_DATA}; skips the test if there is none.
   */
  static Path folder(String subfolder) {
    String named = System.getProperty("vertigrad.data", "");
    String parent =
        named.isBlank() ? Optional.ofNullable(System.getenv("VERTIGRAD_DATA")).orElse("") : named;
    assumeFalse(parent.isBlank(), "skipped: no folder of " + subfolder + " is named; " + HINT);
    Path folder = Path.of(parent, subfolder);
    assumeTrue(Files.isDirectory(folder), "skipped: no folder " + folder + "; " + HINT);
    return folder;
  }
}
