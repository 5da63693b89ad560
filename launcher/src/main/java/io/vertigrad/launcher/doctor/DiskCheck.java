package io.vertigrad.launcher.doctor;

import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;

/** Checks that the folder of the runs is writable and has enough free space. */
final class DiskCheck implements Check {

  private static final long MIB = 1L << 20;
  private static final long LEAST_MIB = 512;

  private final Path folder;

  DiskCheck() {
    this(Path.of("").toAbsolutePath());
  }

  DiskCheck(Path folder) {
    this.folder = folder;
  }

  @Override
  public List<CheckResult> run() {
    try {
      FileStore store = Files.getFileStore(folder);
      long free = store.getUsableSpace() / MIB;
      String found = String.format(Locale.ROOT, "%,d MiB free in %s for runs/", free, folder);
      if (!Files.isWritable(folder)) {
        return List.of(
            CheckResult.fail("disk", folder + " may not be written", "use train --run-dir DIR"));
      }
      if (free < LEAST_MIB) {
        return List.of(CheckResult.warn("disk", found, "make room, or use train --run-dir DIR"));
      }
      return List.of(CheckResult.ok("disk", found));
    } catch (IOException e) {
      return List.of(CheckResult.fail("disk", folder + ": " + e.getMessage(), "use --run-dir DIR"));
    }
  }
}
