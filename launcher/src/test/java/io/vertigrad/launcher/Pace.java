package io.vertigrad.launcher;

import io.vertigrad.testkit.PacedData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Makes a run on generated digits last until a test has disturbed it, with few steps and little
 * processor time: see {@link PacedData}.
 *
 * @param end the file that ends the pace
 */
record Pace(Path end) {

  /** Creates the pace of a run; the file is beside the run's folder. */
  static Pace of(Path run) {
    return new Pace(run.resolveSibling(run.getFileName() + ".released"));
  }

  /**
   * Returns changes to a job file.
   *
   * @param sampleMillis time that each training sample takes until the release
   */
  List<String> settings(int sampleMillis) {
    return List.of(
        "data.name=paced", "data.of=digits", "data.millis=" + sampleMillis, "data.until=" + end);
  }

  /** Lets the run continue at full speed. */
  void release() throws IOException {
    if (!Files.exists(end)) {
      Files.createFile(end);
    }
  }
}
