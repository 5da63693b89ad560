package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Limits the processor time of one worker with a control group of Linux, as containers do. Skipped
 * where control groups cannot be made.
 */
@Tag("slow")
final class ThrottledWorkerTest {

  private static final Path GROUPS = Path.of("/sys/fs/cgroup");

  /** Long beside a step, so that most steps are fast and some take as long as the rest of it. */
  private static final int PERIOD_MICROS = 500_000;

  private static final String PERIOD = "cpu.cfs_period_us";

  /** A tenth of one processor. */
  private static final int QUOTA_MICROS = PERIOD_MICROS / 10;

  @TempDir private Path folder;
  private RunProcess run;
  private Path group;

  @AfterEach
  void end() throws IOException {
    if (run != null) {
      run.close();
    }
    if (group != null) {
      Path made = group;
      Awaitility.await().until(() -> Files.readString(made.resolve("cgroup.procs")).isEmpty());
      // A control group is removed as an empty folder, although it lists files.
      Files.delete(made);
    }
  }

  @Test
  void shouldGiveFewerSamplesToAWorkerWithAQuota() throws Exception {
    group = limited().orElse(null);
    Assumptions.assumeTrue(group != null, "no control group with a quota can be made here");
    run =
        RunProcess.train(
            folder,
            "--processes",
            "--steps=1000000",
            "--set=model.name=mlp",
            "--set=workers.count=3",
            "--set=workers.balance=speed",
            "--set=evaluator.count=0");
    ProcessRun watched = new ProcessRun(folder, new CompletableFuture<>());
    watched.await(() -> watched.count("workerProgress") > 3);

    long pid = watched.process("worker", 1).pid();
    Files.writeString(group.resolve("cgroup.procs"), Long.toString(pid));

    watched.await(() -> watched.shares().filter(ThrottledWorkerTest::isDivided).isPresent());
    List<Integer> shares = watched.shares().orElseThrow();
    assertTrue(isDivided(shares), shares + run.output());
    run.terminate();
    assertTrue(run.exit() >= 0, run.output());
  }

  /** Returns whether worker 1 has less than two thirds of the samples of each other worker. */
  private static boolean isDivided(List<Integer> shares) {
    return 3 * shares.get(1) < 2 * Math.min(shares.get(0), shares.get(2));
  }

  /** Makes a group with the quota, in version 2 or 1 of control groups. */
  private static Optional<Path> limited() {
    return limited(GROUPS, "cpu.max", "%s %s".formatted(QUOTA_MICROS, PERIOD_MICROS))
        .or(
            () ->
                limited(GROUPS.resolve("cpu"), "cpu.cfs_quota_us", Integer.toString(QUOTA_MICROS)));
  }

  private static Optional<Path> limited(Path parent, String file, String quota) {
    Path made = parent.resolve("vertigrad-test-" + ProcessHandle.current().pid());
    try {
      Files.createDirectory(made);
    } catch (IOException forbidden) {
      return Optional.empty();
    }
    try {
      if (Files.exists(made.resolve(file))) {
        if (Files.exists(made.resolve(PERIOD))) {
          Files.writeString(made.resolve(PERIOD), Integer.toString(PERIOD_MICROS));
        }
        Files.writeString(made.resolve(file), quota);
        return Optional.of(made);
      }
    } catch (IOException forbidden) {
      // The group is removed below.
    }
    made.toFile().delete();
    return Optional.empty();
  }
}
