package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.membership.BatchDivision;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import io.vertigrad.internal.worker.GradientSource.Computed;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class BatchBalanceTest {

  private static final List<Integer> EQUAL = List.of(8, 8);
  private static final List<Integer> UNLIKE = List.of(12, 4);

  private final List<String> asked = new ArrayList<>();
  private final List<String> opened = new ArrayList<>();
  private final List<BatchDivision> divisions =
      List.of(
          new BatchDivision(0, 20, EQUAL),
          new BatchDivision(20, 40, UNLIKE),
          new BatchDivision(40, 80, UNLIKE));
  private final BatchBalance balance =
      new BatchBalance(
          (from, round, nanos, known) -> {
            asked.add(
                "%s: round %d, %d ns, knows %s"
                    .formatted(from, round, nanos, known.map(BatchDivision::from).orElse(null)));
            return divisions.stream().filter(d -> d.covers(round)).findFirst().orElseThrow();
          });
  private final BatchesOfRank batches = new BatchesOfRank(this::open);
  private long computedNanos;
  private double readNanos;

  @Test
  void shouldAskAtEachDivisionWithTheMeanOfTheSlowerOfReadingAndComputing() {
    GradientSource source = begin(0);
    for (int round = 0; round < 20; round++) {
      // Stopped in bursts, as by a quota: most rounds are fast.
      computedNanos = round % 4 == 0 ? 8_000 : 80;
      source.compute(round, round, Optional.empty());
    }
    readNanos = 300;
    source.compute(20, 20, Optional.empty());
    for (int round = 21; round < 41; round++) {
      source.compute(round, round, Optional.empty());
    }

    assertEquals(
        List.of(
            "worker 1: round 0, 0 ns, knows null",
            "worker 1: round 20, 258 ns, knows 0",
            "worker 1: round 40, 300 ns, knows 20"),
        asked);
  }

  /** With a quota of a fifth, most rounds are fast, and some wait for the next period. */
  @Test
  void shouldCountTheTimeInWhichAQuotaStopsTheWorker() throws IOException {
    Path group = Path.of("/sys/fs/cgroup/cpu/vertigrad-balance-" + ProcessHandle.current().pid());
    assumeTrue(
        Files.isWritable(group.getParent().resolve("tasks")),
        "needs root and the processor's groups of cgroup v1, which take single threads");
    Files.createDirectory(group);
    String thread = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
    try {
      Files.writeString(group.resolve("cpu.cfs_quota_us"), "20000");
      Files.writeString(group.resolve("tasks"), thread);
      GradientSource source = begin(0);
      long begun = System.nanoTime();
      for (int round = 0; round < 20; round++) {
        long before = System.nanoTime();
        spin(5_000_000);
        computedNanos = System.nanoTime() - before;
        source.compute(round, round, Optional.empty());
      }
      long nanos = System.nanoTime() - begun;
      source.compute(20, 20, Optional.empty());

      String stat = Files.readString(group.resolve("cpu.stat"));
      assumeTrue(!stat.contains("nr_throttled 0"), "this machine keeps no quota: " + stat);
      long reported = Long.parseLong(asked.get(1).replaceAll(".*20, | ns.*", ""));
      assertEquals(nanos / (20.0 * 8), reported, 0.2 * nanos / (20 * 8), asked.get(1));
    } finally {
      Files.writeString(group.getParent().resolve("tasks"), thread);
      Files.delete(group);
    }
  }

  /** Uses so much processor time. */
  private static void spin(long nanos) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long end = threads.getCurrentThreadCpuTime() + nanos;
    while (threads.getCurrentThreadCpuTime() < end) {
      Thread.onSpinWait();
    }
  }

  @Test
  void shouldOpenOtherBatchesWhenTheSharesChange() {
    GradientSource source = begin(0);
    for (int round = 18; round < 42; round++) {
      source.compute(round, round, Optional.empty());
    }

    assertEquals(List.of("batch 18 of 8", "batch 20 of 4"), opened);
  }

  @Test
  void shouldAskAgainInANewIncarnation() {
    begin(0).compute(5, 5, Optional.empty());
    begin(1).compute(6, 6, Optional.empty());

    assertEquals(
        List.of(
            "worker 1: round 5, 0 ns, knows null",
            "worker 1 (incarnation 1): round 6, 0 ns, knows 0"),
        asked);
  }

  private GradientSource begin(int incarnation) {
    Incarnation self =
        new Incarnation(new SenderIdentity(1, 1, incarnation), 0, 0, new StepGate(), () -> false);
    return balance.source(
        self,
        batches,
        (version, step, overlap) -> {
          batches.batch(1, step);
          return new Computed(0, 8, 8, 0.5, 1, 0, computedNanos, 0);
        });
  }

  private BatchSource open(int rank, long first) {
    opened.add("batch %d of %d".formatted(first, balance.shares().get(rank)));
    return new BatchSource() {
      @Override
      public Batch next() {
        return null;
      }

      @Override
      public double nanosPerSample() {
        return readNanos;
      }

      @Override
      public void close() {}
    };
  }
}
