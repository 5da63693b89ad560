package io.vertigrad.internal.shard;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.ParameterPartition;
import io.vertigrad.internal.checkpoint.Checkpoint;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.CopyMemory;
import io.vertigrad.internal.checkpoint.WritePace;
import io.vertigrad.testkit.TestJob;
import io.vertigrad.testkit.TestShard;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A checkpoint holds the shard as it was when the copy began, whichever thread copies a partition.
 */
class ShardCheckpointTest {

  private static final int ELEMENTS = 400;
  private static final int PARTITIONS = 10;
  private static final int STEPS = 60;
  private static final int EVERY = 3;

  private final CopyMemory memory = new CopyMemory();

  @TempDir Path folder;

  @Test
  void shouldWriteTheSameBytesWhileTheShardContinues() throws Exception {
    TestShard resting = shard();
    TestShard training = shard();
    Random order = new Random(7);

    for (int step = 0; step < STEPS; step++) {
      for (int part = 0; part < PARTITIONS; part++) {
        update(resting, step, part);
      }
      if (step % EVERY != 0) {
        round(training, step, 0);
        continue;
      }
      round(training, step, 0);
      byte[] expected = write(resting.internal().beginCopy(new CopyMemory(), false), "resting");
      Checkpoint copy = training.internal().beginCopy(memory, false);
      // Some partitions take the next round's step before the file is started, the others while it
      // is written.
      int before = order.nextInt(PARTITIONS + 1);
      for (int part = 0; part < before; part++) {
        update(training, step + 1, part);
      }
      CompletableFuture<byte[]> file =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return write(copy, "training");
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      round(training, step + 1, before);
      assertArrayEquals(expected, file.get(30, TimeUnit.SECONDS), "step " + step);
      step++;
      for (int part = 0; part < PARTITIONS; part++) {
        update(resting, step, part);
      }
    }
  }

  @Test
  void shouldWriteTheStateBeforeTheRollback() throws IOException {
    TestShard resting = shard();
    TestShard training = shard();
    TestShard earlier = shard();
    round(resting, 0, 0);
    round(training, 0, 0);

    Checkpoint copy = training.internal().beginCopy(memory, false);
    training.restoreFrom(earlier);
    training.close("evicted");

    assertArrayEquals(
        write(resting.internal().beginCopy(new CopyMemory(), false), "resting"),
        write(copy, "training"));
    assertEquals(0, training.version());
  }

  @Test
  void shouldTakeTheNextCheckpointAfterOneThatCouldNotBeWritten() throws IOException {
    Path file = Files.createFile(folder.resolve("not-a-folder"));
    TestShard resting = shard();
    TestShard training = shard();
    round(resting, 0, 0);
    round(training, 0, 0);
    Checkpoint lost = training.internal().beginCopy(memory, false);

    assertThrows(
        IOException.class, () -> new CheckpointFolder(file, 1).write(lost, new WritePace()));
    round(resting, 1, 0);
    round(training, 1, 0);

    assertArrayEquals(
        write(resting.internal().beginCopy(new CopyMemory(), false), "resting"),
        write(training.internal().beginCopy(memory, false), "training"));
  }

  /** The worker then keeps what that step starts with, for a server that goes back there. */
  @Test
  void shouldMarkTheAnswerToTheFirstStepThatTheNewestCheckpointLacks() {
    TestShard shard = shard();
    round(shard, 0, 0);
    round(shard, 1, 0);
    assertFalse(marked(update(shard, 2, 0)), "there is no checkpoint yet");
    Checkpoint copy = shard.internal().beginCopy(memory, false);

    assertFalse(marked(update(shard, 2, 0)), "partition 0 had it before the checkpoint");
    assertTrue(marked(update(shard, 2, 1)));
    assertTrue(marked(update(shard, 2, 1)), "repeated");
    assertTrue(marked(update(shard, 3, 0)));
    round(shard, 2, 2);
    assertFalse(marked(update(shard, 3, 1)));
    copy.release();
  }

  /** The server may be lost again before it has written a checkpoint of its own. */
  @Test
  void shouldMarkTheAnswerToTheFirstStepThatTheRestoredCheckpointLacks() {
    TestShard lost = shard();
    round(lost, 0, 0);
    round(lost, 1, 0);
    TestShard restored = shard();

    restored.internal().restore(lost.internal().snapshot());

    assertTrue(marked(update(restored, 2, 0)));
    assertTrue(marked(update(restored, 2, 1)));
    assertFalse(marked(update(restored, 3, 0)));
  }

  private static boolean marked(Future<Frame> answer) {
    return ((ParameterPartition) answer.result()).saved();
  }

  private byte[] write(Checkpoint copy, String name) throws IOException {
    Path file = new CheckpointFolder(folder.resolve(name), 1).write(copy, new WritePace());
    return Files.readAllBytes(file);
  }

  private static TestJob job() {
    return new TestJob(
            new JsonObject().put("name", "sync"),
            ELEMENTS,
            0,
            STEPS + 2,
            1,
            ELEMENTS / PARTITIONS,
            1)
        .withMomentum(0.9f);
  }

  private static TestShard shard() {
    TestShard shard = job().shard();
    shard.membershipChanged(TestJob.workers(1));
    return shard;
  }

  private static void round(TestShard shard, int step, int first) {
    for (int part = first; part < PARTITIONS; part++) {
      update(shard, step, part);
    }
  }

  private static Future<Frame> update(TestShard shard, int step, int part) {
    float[] gradient = new float[ELEMENTS / PARTITIONS];
    Random random = new Random(31L * step + part);
    for (int i = 0; i < gradient.length; i++) {
      gradient[i] = random.nextFloat() - 0.5f;
    }
    return shard.handle(job().gradient(0, step, part, step, gradient));
  }
}
