package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.CheckpointsDelayed;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.job.StopConfig;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Tests a job of one server and two workers that writes a checkpoint every ten seconds. */
final class CheckpointPlanTest {

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
  void shouldNameEachVersionOnceWhenMembersSaveAfterAnExchangeOnly() {
    fixture = exchangingEvery(200, 2_000).started(1, 2);

    train(70_000, 0);

    assertEquals(List.of(200L, 400L, 600L, 800L), chosenVersions());
  }

  @Test
  void shouldNameTheNextVersionBeforeTheLastOneIsReached() {
    fixture = exchangingEvery(20, 2_000).started(1, 2);

    train(30_000, 0);

    List<Long> versions = chosenVersions();
    for (int i = 2; i < versions.size(); i++) {
      assertEquals(20, versions.get(i) - versions.get(i - 1), versions.toString());
    }
    assertTrue(versions.size() >= 12, versions.toString());
  }

  @Test
  void shouldNameTheNextVersionsOfLiveMembersWhileTheyRepeatSteps() {
    fixture =
        new CoordinatorStateFixture(
                CoordinatorStateFixture.savingEvery(
                    2_000, CoordinatorStateFixture.config(0, 2, true)))
            .started(0, 2);
    train(60_000, 0);
    int before = chosenVersions().size();

    version = 100;
    train(20_000, 0);

    List<Long> repeated = chosenVersions().subList(before, chosenVersions().size());
    assertTrue(repeated.size() >= 7, repeated.toString());
    assertTrue(repeated.get(0) <= 160, repeated.toString());
  }

  /** Eight members write at the same time, each for 40 ms. */
  @Test
  void shouldNotAddUpTheTimesOfMembersThatWriteSideBySide() {
    fixture =
        new CoordinatorStateFixture(
                CoordinatorStateFixture.savingEvery(
                    2_000, CoordinatorStateFixture.config(0, 8, true)))
            .started(0, 8);

    train(30_000, 40);

    assertTrue(chosenVersions().size() >= 12, chosenVersions().toString());
    assertEquals(List.of(), fixture.events(CheckpointsDelayed.class));
  }

  @Test
  void shouldSayOnceThatCheckpointsAreFurtherApartThanTheJobFileSays() {
    train(20_000, 100);
    assertEquals(List.of(), fixture.events(CheckpointsDelayed.class));

    train(200_000, 800);

    List<CheckpointsDelayed> said = fixture.events(CheckpointsDelayed.class);
    assertEquals(1, said.size());
    assertEquals(40, said.get(0).seconds());
    assertEquals(10, said.get(0).wanted());
    assertTrue(said.get(0).reason().startsWith("writing one costs 800 ms"), said.toString());
  }

  @Test
  void shouldSayThatWorkersWriteAfterAnExchangeOnly() {
    fixture = exchangingEvery(200, 2_000).started(1, 2);

    train(80_000, 0);

    List<CheckpointsDelayed> said = fixture.events(CheckpointsDelayed.class);
    assertEquals(1, said.size());
    assertTrue(said.get(0).reason().contains("every 200 steps"), said.toString());
  }

  @Test
  void shouldLetMembersWriteTheirOwnVersionsWhenTheyHaveNoneInCommon() {
    fixture =
        new CoordinatorStateFixture(
                CoordinatorStateFixture.savingEvery(
                    10_000, CoordinatorStateFixture.config(2, 2, false)))
            .started(2, 2);
    train(9_000, 0);
    assertEquals(1, chosenVersions().size());
    assertTrue(chosenVersions().get(0) <= version, "nobody has to reach it");

    train(9_000, 0);
    assertEquals(1, chosenVersions().size());
    train(60_000, 800);

    assertEquals(2, chosenVersions().size(), "40 s apart where writing costs 0.8 s");
  }

  private static CoordinatorStateFixture exchangingEvery(long versions, long millis) {
    return new CoordinatorStateFixture(
        CoordinatorStateFixture.savingEvery(
            millis, CoordinatorStateFixture.config(1, 2, 4096, true, versions, StopConfig.NONE)));
  }

  private void train(long millis, long saveMillis) {
    for (long end = version + millis / 100; version < end; ) {
      version++;
      MemberStatus server =
          new ServerStatus(version, version, false, saveMillis, Optional.empty(), Optional.empty());
      MemberStatus worker = new WorkerStatus(version, version, 0, "", 0, false, saveMillis, false);
      fixture.setStatuses(member -> member.role() == Role.SERVER ? server : worker);
      fixture.advance(100);
    }
  }

  private List<Long> chosenVersions() {
    return fixture.all(Hold.class).stream()
        .map(hold -> hold.pause().saveAt())
        .filter(versions -> !versions.isEmpty())
        .distinct()
        .map(versions -> versions.get(versions.size() - 1))
        .toList();
  }
}
