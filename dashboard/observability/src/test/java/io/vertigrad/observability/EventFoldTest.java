package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.JobPaused;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStopped;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class EventFoldTest {

  @Test
  void shouldPassEachEventToTheMethodsForItsKindInTheirOrder() {
    List<String> called = new ArrayList<>();
    EventFold fold =
        new EventFold()
            .on(JobPaused.class, paused -> called.add("paused " + paused.timeMillis()))
            .on(JobResumed.class, resumed -> called.add("resumed " + resumed.pausedMillis()))
            .on(JobPaused.class, paused -> called.add("again"));

    assertTrue(fold.apply(new JobPaused(5)));
    assertTrue(fold.apply(new JobResumed(9, 4)));
    assertFalse(fold.apply(new JobStopped(10, "enough")));

    assertEquals(List.of("paused 5", "again", "resumed 4"), called);
  }
}
