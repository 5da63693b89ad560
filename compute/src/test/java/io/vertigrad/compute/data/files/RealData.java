package io.vertigrad.compute.data.files;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;

/** Where the published data sets lie on this machine, if they do. */
final class RealData {

  private RealData() {}

  /** A subfolder of the folder in system property {@code vertigrad.data}; else skips the test. */
  static Path folder(String subfolder) {
    Path folder = Path.of(System.getProperty("vertigrad.data", "data"), subfolder);
    assumeTrue(
        Files.isDirectory(folder),
        "skipped: no folder " + folder + "; name its parent with -Dvertigrad.data=DIR");
    return folder;
  }
}
