package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.testkit.TestProgress;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tests what {@code summary.json} counts when members die and join again. */
final class RunCountersTest {

  private final RunProgress progress = new RunProgress(() -> 0);

  @Test
  void shouldCountEveryIncarnationOnce() {
    progress.apply(server(0, 70));
    progress.apply(server(0, 80));
    progress.apply(worker(0, 30, 10));
    progress.apply(new MemberLeft(0, Role.SERVER, 0, 0, "its process ended"));
    progress.apply(new MemberLeft(0, Role.WORKER, 0, 0, "its process ended"));
    progress.apply(new MemberJoined(0, Role.SERVER, 0, 1, "n", ""));
    progress.apply(new MemberJoined(0, Role.WORKER, 0, 1, "n", ""));
    assertEquals(80, progress.view().server(0).orElseThrow().applied());
    assertEquals(Map.of(0, 30L, 1, 10L), progress.staleness());

    progress.apply(server(1, 5));
    progress.apply(worker(1, 2, 1));
    // The last report of the earlier incarnation arrives late, and twice.
    progress.apply(worker(0, 31, 10));
    progress.apply(worker(0, 31, 10));

    assertEquals(85, progress.view().server(0).orElseThrow().applied());
    assertEquals(Map.of(0, 33L, 1, 11L), progress.staleness());
    assertEquals(44 * 128, progress.samples());
  }

  private static ServerProgress server(int incarnation, long applied) {
    return new ServerProgress(0, 0, incarnation, applied, 0, applied, 0, 0, 0, 0);
  }

  private static WorkerProgress worker(int incarnation, long fresh, long stale) {
    long steps = fresh + stale;
    return TestProgress.of(0, 0, incarnation, steps, 128 * steps, 1, Map.of(0, fresh, 1, stale));
  }
}
