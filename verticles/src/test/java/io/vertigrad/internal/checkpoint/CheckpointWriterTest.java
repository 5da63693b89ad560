package io.vertigrad.internal.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.CheckpointFailed;
import io.vertigrad.events.TrainingEvent.CheckpointWritten;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CheckpointWriterTest {

  private final Queue<TrainingEvent> events = new ConcurrentLinkedQueue<>();
  private final Error full = new OutOfMemoryError("Java heap space");
  private boolean isFull;

  @TempDir private Path folder;

  @Test
  void shouldFailTheCheckpointAndWriteTheNextWhenMemoryIsFull() throws Exception {
    try (CheckpointWriter writer = writer()) {
      isFull = true;
      Future<Path> lost = writer.write(copy(1), () -> {});

      assertSame(full, assertThrows(ExecutionException.class, () -> result(lost)).getCause());
      writer.awaitAll();
      isFull = false;
      result(writer.write(copy(2), () -> {}));

      assertEquals(List.of(2L), writer.versions());
    }
    CheckpointFailed failed = assertInstanceOf(CheckpointFailed.class, events.poll());
    assertEquals(1, failed.version());
    assertEquals("Java heap space", failed.reason());
    assertInstanceOf(CheckpointWritten.class, events.poll());
  }

  private static Path result(Future<Path> written) throws Exception {
    return written.toCompletionStage().toCompletableFuture().get(10, TimeUnit.SECONDS);
  }

  private CheckpointWriter writer() {
    JsonObject checkpoint = new JsonObject().put("every", 1).put("directory", folder.toString());
    JobConfig job = JobConfig.read("test", new JsonObject().put("checkpoint", checkpoint));
    return new CheckpointWriter(
        job, Role.SERVER, 3, new CheckpointWriter.Owner(this::run, Map::of), events::add);
  }

  private static Checkpoint copy(long version) {
    SavedState.Head head = new SavedState.Head(version, 0);
    return new Checkpoint(1, 0, 0, 2, List.of(SavedState.begin(head, List.of(), new CopyMemory())));
  }

  /** Has no memory left while the test says so. */
  private String run() {
    if (isFull) {
      throw full;
    }
    return "run";
  }
}
