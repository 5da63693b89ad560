package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.Compression;
import io.vertigrad.codecs.Compression.Kind;
import io.vertigrad.codecs.DataType;
import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.checkpoint.ResidualFiles;
import io.vertigrad.internal.checkpoint.SavedState;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.internal.timeline.SpanRecorder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ServerExchangeTest {

  private final TrainingLoopFixture fixture = new TrainingLoopFixture();

  @TempDir private Path folder;

  /** The servers may go back to the step before: the answer that says so was on its way. */
  @Test
  void shouldKeepTheLastStepOfItsPredecessorWhenItOpens() throws IOException {
    try (ResidualFiles files = files()) {
      files.write(11, state(11));
      files.write(12, state(12));
    }
    ResidualFiles replacement = files();
    ServerExchange exchange = exchange(replacement, 12);

    exchange.open();
    replacement.write(13, state(13));
    exchange.close();

    assertEquals(11, residual(11));
    assertEquals(12, residual(12));
    assertEquals(13, residual(13));
  }

  private float residual(long step) throws IOException {
    return files().read(step).orElseThrow().part(SavedState.RESIDUAL)[0];
  }

  private ServerExchange exchange(ResidualFiles files, long firstStep) {
    TrainingPlan plan =
        TrainingPlans.of(
            TrainingLoopFixture.JOB,
            fixture.partitions,
            DataType.FLOAT32,
            new Compression(Kind.TOPK, 0.2),
            0,
            20,
            false);
    SenderIdentity identity = new SenderIdentity(TrainingLoopFixture.JOB, 1, 1);
    Incarnation self = new Incarnation(identity, 0, firstStep, new StepGate(), () -> false);
    return new ServerExchange(
        fixture.model,
        plan,
        fixture.shard.client(),
        self,
        SpanRecorder.OFF,
        Optional.of(files),
        Optional.empty(),
        0,
        Optional.empty(),
        false);
  }

  private ResidualFiles files() {
    return new ResidualFiles(new CheckpointFolder(folder, 3), 1, 7, 5);
  }

  private List<SavedState.Part> state(long step) {
    int length = TrainingLoopFixture.TRAINABLE;
    return List.of(
        SavedState.Part.of(
            SavedState.RESIDUAL,
            () -> length,
            to -> {
              for (int i = 0; i < length; i++) {
                to.put(step);
              }
            },
            from -> {}));
  }
}
