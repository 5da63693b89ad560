package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.checkpoint.CheckpointWriter;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.worker.ReplicaCheckpoints.ReplicaSaves;
import io.vertigrad.job.JobConfig;
import io.vertigrad.testkit.QuadraticEngine;
import io.vertigrad.testkit.QuadraticModel;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

class ReplicaCheckpointsTest {

  private final CountDownLatch diskIsFree = new CountDownLatch(1);
  private final CountedCopies model = new CountedCopies();

  @TempDir Path folder;

  @Test
  @Timeout(30)
  void shouldBeginNoThirdCopyWhileTwoArePending() throws Exception {
    try (ReplicaCheckpoints checkpoints = checkpoints()) {
      ReplicaSaves saves = new ReplicaSaves(checkpoints, 0, 0, true);
      saves.write(model, new float[0]);
      saves.write(model, new float[0]);
      Thread trains = new Thread(() -> saves.write(model, new float[0]));
      trains.start();
      while (trains.getState() != Thread.State.WAITING) {
        assertTrue(trains.isAlive(), "the third copy was taken");
        Thread.onSpinWait();
      }

      assertEquals(2, model.copies);
      diskIsFree.countDown();
      trains.join();
      assertEquals(3, model.copies);
    }
  }

  @Test
  void shouldBeDueOncePerChosenVersionWhenRanksWriteVersionsOfTheirOwn() {
    AtomicReference<List<Long>> chosen = new AtomicReference<>(List.of());
    try (ReplicaCheckpoints checkpoints = checkpoints(0, false, chosen::get)) {
      assertFalse(checkpoints.due(7));

      chosen.set(List.of(5L));

      assertTrue(checkpoints.due(8));
      assertFalse(checkpoints.due(9));
      chosen.set(List.of());
      assertFalse(checkpoints.due(10), "a worker that joins again knows of none");
      chosen.set(List.of(5L));
      assertFalse(checkpoints.due(11), "it was written");
      chosen.set(List.of(5L, 30L));
      assertTrue(checkpoints.due(12));
    }
  }

  private ReplicaCheckpoints checkpoints() {
    return checkpoints(1, true, List::of);
  }

  private ReplicaCheckpoints checkpoints(
      long every, boolean allRanks, Supplier<List<Long>> chosen) {
    JsonObject checkpoint =
        new JsonObject().put("every", every).put("directory", folder.toString());
    JobConfig job = JobConfig.read("test", new JsonObject().put("checkpoint", checkpoint));
    return new ReplicaCheckpoints(
        job,
        model.layout(),
        every,
        3,
        allRanks,
        new CheckpointWriter.Owner(this::runOnceDiskIsFree, Map::of),
        chosen,
        event -> {},
        Optional.empty());
  }

  /** Keeps the writer's thread waiting until the test says otherwise. */
  private String runOnceDiskIsFree() {
    try {
      assertTrue(diskIsFree.await(30, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    return "run";
  }

  private static final class CountedCopies extends VectorModel {

    private volatile int copies;

    CountedCopies() {
      super(new QuadraticModel(5, 0), new QuadraticEngine(), 0, 64, Float.MAX_VALUE);
    }

    @Override
    public SavedState copy(float[] memory, CopyMemory into) {
      copies++;
      return super.copy(memory, into);
    }
  }
}
