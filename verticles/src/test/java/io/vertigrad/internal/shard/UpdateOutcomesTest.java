package io.vertigrad.internal.shard;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.codecs.Refusal.Reason;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.UpdateRefused;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class UpdateOutcomesTest {

  private static final ExchangeId UPDATE = new ExchangeId(0, 1, 0, 0, 56, 2);

  private final List<TrainingEvent> events = new ArrayList<>();
  private long nanos;

  @Test
  void shouldReportNoWorkerWhoseRankWasReassigned() {
    UpdateOutcomes outcomes = new UpdateOutcomes(3, () -> nanos, events::add);

    outcomes.refused(
        new Refusal(UPDATE, Reason.STALE_INCARNATION, "found incarnation 0, expected 1"));

    assertEquals(List.of(), events);
    assertEquals(1, outcomes.counters(0, 0).refused());
  }

  @Test
  void shouldReportTwentyASecondAndCountTheRest() {
    UpdateOutcomes outcomes = new UpdateOutcomes(3, () -> nanos, events::add);
    for (int i = 0; i < 25; i++) {
      outcomes.refused(new Refusal(UPDATE, Reason.NOT_FINITE, "holds NaN"));
    }
    assertEquals(UpdateOutcomes.PER_SECOND, events.size());

    nanos += 1_000_000_000L;
    outcomes.refused(new Refusal(UPDATE, Reason.NOT_FINITE, "holds NaN"));

    UpdateRefused last = (UpdateRefused) events.get(events.size() - 1);
    assertEquals("holds NaN (5 refusals before it not shown)", last.reason());
    assertEquals(new UpdateRefused(last.timeMillis(), 3, 1, 56, 2, last.reason()), last);
  }
}
