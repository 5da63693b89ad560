package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.streams.internal.PositionJournal.Found;
import io.vertigrad.streams.internal.PositionJournal.Step;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PositionJournalTest {

  private static final String FORMER = "stream-1-6.positions";

  @TempDir private Path folder;

  /** The file is a resource that version 0.2 wrote. A run of that version can be resumed. */
  @Test
  void shouldReadTheStepsThatAnEarlierVersionRecorded() throws IOException {
    try (var file = PositionJournalTest.class.getResourceAsStream(FORMER)) {
      Files.copy(file, folder.resolve(FORMER));
    }

    Found found = new PositionJournal(folder, 1).find(8).orElseThrow();

    assertEquals(6, found.step());
    assertEquals(new JsonObject().put("line", 77), found.state().getJsonObject("position"));
    assertEquals(2, found.steps().size());
    Step first = found.steps().get(0);
    assertArrayEquals(new float[] {1, 0}, first.labels());
    assertArrayEquals(new float[] {1, 1}, first.predictions());
    assertArrayEquals(new float[] {Float.NaN, 1}, first.previous());
    assertEquals(3, first.bad());
    assertArrayEquals(new long[] {79}, first.cursor().orElseThrow());
    assertTrue(found.steps().get(1).cursor().isEmpty());
  }
}
