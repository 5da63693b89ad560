package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
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

  private ReplicaCheckpoints checkpoints() {
    JsonObject checkpoint = new JsonObject().put("every", 1).put("directory", folder.toString());
    JobConfig job = JobConfig.read("test", new JsonObject().put("checkpoint", checkpoint));
    return new ReplicaCheckpoints(
        job,
        model.layout(),
        1,
        3,
        true,
        new CheckpointWriter.Owner(this::runOnceDiskIsFree, Map::of),
        version -> false,
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
