package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests a job of one server and two workers that writes a checkpoint every ten seconds. */
final class CheckpointPlanTest {

  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(
              CoordinatorStateFixture.savingEvery(
                  10_000, CoordinatorStateFixture.config(1, 2, true)))
          .started(1, 2);
  private long version;

  /** At ten versions per second, the chosen version lies two seconds ahead. */
  @Test
  void shouldNameAVersionThatNobodyHasReachedYet() {
    trains(8_000, 0);
    assertEquals(List.of(), named());

    trains(1_000, 0);

    assertEquals(1, named().size());
    long at = named().get(0);
    assertTrue(at > version + 10 && at <= version + 30, at + " at version " + version);
    trains(9_000, 0);
    assertEquals(1, named().size());
    trains(2_000, 0);
    assertEquals(2, named().size());
  }

  @Test
  void shouldLeaveMoreTimeBetweenTwoWhenOneTakesLong() {
    trains(9_000, 0);

    trains(37_000, 800);
    assertEquals(1, named().size());
    trains(5_000, 800);

    assertEquals(2, named().size());
  }

  @Test
  void shouldNameNoneWhileTheJobIsPaused() {
    trains(5_000, 0);
    stage.coordinator.pause();

    trains(20_000, 0);

    assertEquals(List.of(), named());
  }

  private void trains(long millis, long saveMillis) {
    for (long end = version + millis / 100; version < end; ) {
      version++;
      MemberStatus status =
          MemberStatus.ofServer(version, version, false, Optional.empty())
              .withSaveMillis(saveMillis);
      stage.repeats(SERVER, status);
      stage.pass(100);
    }
  }

  private List<Long> named() {
    return stage.all(Hold.class).stream()
        .map(hold -> hold.pause().saveAt())
        .filter(at -> at > 0)
        .distinct()
        .toList();
  }
}
