package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests a job of one server and two workers that writes a checkpoint every ten seconds. */
final class CheckpointPlanTest {

  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);

  private CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(
              CoordinatorStateFixture.savingEvery(
                  10_000, CoordinatorStateFixture.config(1, 2, true)))
          .started(1, 2);
  private long version;

  /** At ten versions per second, the chosen version lies two seconds ahead. */
  @Test
  void shouldNameAVersionThatNobodyHasReachedYet() {
    train(8_000, 0);
    assertEquals(List.of(), chosenVersions());

    train(1_000, 0);

    assertEquals(1, chosenVersions().size());
    long at = chosenVersions().get(0);
    assertTrue(at > version + 10 && at <= version + 30, at + " at version " + version);
    train(9_000, 0);
    assertEquals(1, chosenVersions().size());
    train(2_000, 0);
    assertEquals(2, chosenVersions().size());
  }

  @Test
  void shouldWaitLongerBetweenCheckpointsThatTakeLong() {
    train(9_000, 0);

    train(37_000, 800);
    assertEquals(1, chosenVersions().size());
    train(5_000, 800);

    assertEquals(2, chosenVersions().size());
  }

  @Test
  void shouldNameNoneWhileTheJobIsPaused() {
    train(5_000, 0);
    fixture.coordinator.pause();

    train(20_000, 0);

    assertEquals(List.of(), chosenVersions());
  }

  /** Where members save every 200 versions only, a version may lie 20 s ahead. */
  @Test
  void shouldNameNoOtherVersionBeforeTheLastOneIsReached() {
    CoordinatorConfig exchanging =
        CoordinatorStateFixture.config(1, 2, 4096, true, 200, StopConfig.NONE);
    fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.savingEvery(2_000, exchanging))
            .started(1, 2);
    int chosen = 0;

    for (int i = 0; i < 700; i++) {
      train(100, 0);
      List<Long> versions = chosenVersions();
      if (versions.size() > chosen && chosen > 0) {
        assertTrue(version >= versions.get(chosen - 1), versions + " at version " + version);
      }
      chosen = versions.size();
    }

    assertEquals(List.of(200L, 400L, 600L, 800L), chosenVersions());
  }

  private void train(long millis, long saveMillis) {
    for (long end = version + millis / 100; version < end; ) {
      version++;
      MemberStatus status =
          new ServerStatus(version, version, false, saveMillis, Optional.empty(), Optional.empty());
      fixture.setStatus(SERVER, status);
      fixture.advance(100);
    }
  }

  private List<Long> chosenVersions() {
    return fixture.all(Hold.class).stream()
        .map(hold -> hold.pause().saveAt())
        .filter(at -> at > 0)
        .distinct()
        .toList();
  }
}
