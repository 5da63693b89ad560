package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Where the published data sets lie on this machine, if they do. */
final class RealData {

  private static final String HINT =
      "name the folder above it with -Dvertigrad.data=DIR or the environment variable VERTIGRAD_DATA";

  private RealData() {}

  /**
   * Gives a subfolder of the folder that the system property {@code vertigrad.data} names, else of
   * that of the environment variable {@code VERTIGRAD_DATA}; skips the test where there is none.
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
