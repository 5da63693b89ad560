package io.vertigrad.internal.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Residuals of 300,000 elements, which is more than the buffer holds at once. */
final class ResidualFilesTest {

  private static final int ELEMENTS = 300_000;

  @TempDir private Path folder;

  @Test
  void shouldReadTheLastTwoStepsAndTheLastFewThatFollowCheckpoints() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      train(files, 1, 47);
    }

    List<Long> readable =
        LongStream.rangeClosed(0, 50).boxed().filter(version -> read(1, 7, version)).toList();
    assertEquals(List.of(20L, 30L, 40L, 46L, 47L), readable);
    assertArrayEquals(residual(46), elements(files(1, 7).read(46)));
    assertArrayEquals(residual(30), elements(files(1, 7).read(30)));
  }

  @Test
  void shouldKeepNoMoreWhenAReplacementGoesOnFromAnEarlierStep() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      train(files, 1, 47);
    }
    try (ResidualFiles replacement = files(1, 7)) {
      replacement.continueFrom(30);
      train(replacement, 31, 41);
    }

    List<Long> readable =
        LongStream.rangeClosed(0, 50).boxed().filter(version -> read(1, 7, version)).toList();
    assertEquals(List.of(20L, 30L, 40L, 41L), readable);
  }

  /** The servers write a checkpoint between the last step of a worker and the first of the next. */
  @Test
  void shouldKeepAStepThatAPredecessorHasWritten() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      train(files, 1, 6);
    }
    try (ResidualFiles replacement = files(1, 7)) {
      replacement.write(6, state(6));
      replacement.keep(5);
      train(replacement, 7, 9);
    }

    assertTrue(read(1, 7, 5));
  }

  /**
   * The answer to step 11 says that the servers' checkpoint lacks it. The predecessor missed it.
   */
  @Test
  void shouldKeepTheStepWhoseAnswerThePredecessorHasMissed() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      train(files, 1, 12);
    }
    try (ResidualFiles replacement = files(1, 7)) {
      replacement.continueFrom(12);
      train(replacement, 13, 16);
    }

    List<Long> readable =
        LongStream.rangeClosed(0, 20).boxed().filter(version -> read(1, 7, version)).toList();
    assertEquals(List.of(10L, 11L, 15L, 16L), readable);
  }

  @Test
  void shouldReadNothingOfAnotherRankOrJob() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      files.write(3, state(3));
    }

    assertTrue(read(1, 7, 3));
    assertEquals(Optional.empty(), files(0, 7).read(3));
    assertEquals(Optional.empty(), files(1, 8).read(3));
  }

  @Test
  void shouldReadNoIncompleteFile() throws IOException {
    try (ResidualFiles files = files(1, 7)) {
      files.write(3, state(3));
    }
    try (RandomAccessFile file =
        new RandomAccessFile(folder.resolve("residual-1-odd").toFile(), "rw")) {
      file.seek(1_000);
      file.write(99);
    }

    assertEquals(Optional.empty(), files(1, 7).read(3));
  }

  /** Writes the steps from one to another, and keeps every tenth once the next one is written. */
  private static void train(ResidualFiles files, long from, long to) throws IOException {
    for (long step = from; step <= to; step++) {
      files.write(step, state(step));
      if (step % 10 == 1) {
        files.keep(step - 1);
      }
    }
  }

  private boolean read(int rank, long job, long version) {
    try {
      return files(rank, job).read(version).isPresent();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  private ResidualFiles files(int rank, long job) {
    return new ResidualFiles(new CheckpointFolder(folder, 3), rank, job, 5);
  }

  private static float[] elements(Optional<SavedState> read) {
    return read.orElseThrow().part(SavedState.RESIDUAL);
  }

  private static List<SavedState.Part> state(long step) {
    return List.of(
        SavedState.Part.of(
            SavedState.RESIDUAL, () -> ELEMENTS, to -> to.put(residual(step)), from -> {}));
  }

  private static float[] residual(long version) {
    float[] residual = new float[ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++) {
      residual[i] = version + i;
    }
    return residual;
  }
}
