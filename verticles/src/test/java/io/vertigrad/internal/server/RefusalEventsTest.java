package io.vertigrad.internal.server;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class RefusalEventsTest {

  private final List<TrainingEvent> events = new ArrayList<>();
  private long nanos;

  @Test
  void shouldReportNoWorkerWhoseRankWasReassigned() {
    RefusalEvents refusalEvents = new RefusalEvents(3, () -> nanos, events::add);

    refusalEvents.outdated(new ExchangeId(0, 1, 0, 0, 56, 2), "found incarnation 0, expected 1");

    assertEquals(List.of(), events);
  }

  @Test
  void shouldReportTwentyASecondAndCountTheRest() {
    RefusalEvents refusalEvents = new RefusalEvents(3, () -> nanos, events::add);
    ExchangeId id = new ExchangeId(0, 1, 0, 0, 56, 2);
    for (int i = 0; i < 25; i++) {
      refusalEvents.refused(id, "holds NaN");
    }
    assertEquals(RefusalEvents.PER_SECOND, events.size());

    nanos += 1_000_000_000L;
    refusalEvents.refused(id, "holds NaN");

    UpdateRefused last = (UpdateRefused) events.get(events.size() - 1);
    assertEquals("holds NaN (5 refusals before it not shown)", last.reason());
    assertEquals(new UpdateRefused(last.timeMillis(), 3, 1, 56, 2, last.reason()), last);
  }
}
