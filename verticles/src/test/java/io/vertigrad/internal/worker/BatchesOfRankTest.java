package io.vertigrad.internal.worker;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.compute.Batch;
import io.vertigrad.compute.data.BatchSource;
import io.vertigrad.internal.worker.BatchGradients.BatchesOfRank;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class BatchesOfRankTest {

  private final List<String> opened = new ArrayList<>();
  private final List<String> closed = new ArrayList<>();
  private final BatchesOfRank batches = new BatchesOfRank(Numbered::new);

  @Test
  void shouldOpenTheSourceOnceWhenStepsFollowEachOther() {
    assertEquals(List.of(0, 1, 2), List.of(of(1, 0), of(1, 1), of(1, 2)));
    assertEquals(List.of("1 at 0"), opened);
  }

  @Test
  void shouldOpenTheDataAtTheStepWhenAWorkerStartsInTheMiddle() {
    assertEquals(700, of(2, 700));
    assertEquals(List.of("2 at 700"), opened);
  }

  @Test
  void shouldGiveTheSameBatchAgainWhenAStepIsRepeated() {
    of(0, 4);
    of(0, 5);

    assertEquals(List.of(5, 3, 4), List.of(of(0, 5), of(0, 3), of(0, 4)));
    assertEquals(List.of("0 at 4", "0 at 5", "0 at 3"), opened);
    assertEquals(List.of("0 at 4", "0 at 5"), closed);
  }

  @Test
  void shouldOpenAnotherRanksBatchesWhenTheRankChanges() {
    of(0, 0);

    assertEquals(1, of(3, 1));
    assertEquals(List.of("0 at 0", "3 at 1"), opened);
    assertEquals(List.of("0 at 0"), closed);
  }

  @Test
  void shouldCloseOpenConnections() {
    batches.close();
    of(0, 0);
    batches.close();
    batches.close();

    assertEquals(opened, closed);
  }

  /** Returns the label of a batch, which is its number. */
  private int of(int rank, long step) {
    return batches.batch(rank, step).labels()[0];
  }

  private final class Numbered implements BatchSource {

    private final String name;
    private int next;

    Numbered(int rank, long first) {
      name = "%d at %d".formatted(rank, first);
      next = (int) first;
      opened.add(name);
    }

    @Override
    public Batch next() {
      return new Batch(new float[1], new int[] {next++}, List.of(1), 0);
    }

    @Override
    public void close() {
      closed.add(name);
    }
  }
}
