package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.events.TrainingEvent.UpdatesCounted;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.HandOver;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.Decision.Succeed;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests three workers without servers that have checkpoints of version 40, and lose worker 2. */
final class WorkersGoBackTest {

  private static final RunVersion SAVED = new RunVersion(40, 1_000);
  private static final List<RunVersion> NOTHING = List.of(RunVersion.BEGINNING);
  private static final List<RunVersion> FILES = List.of(RunVersion.BEGINNING, SAVED);
  private static final Admission BACK = new Admission(Role.WORKER, 2, 1);

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(0, 3, true));

  @BeforeEach
  void loseTheThirdWorker() {
    for (int rank = 0; rank < 3; rank++) {
      fixture.joinFrom("worker " + rank, Role.WORKER, MemberStatus.NONE);
    }
    choose(NOTHING, NOTHING, NOTHING);
    fixture.setStatuses(member -> CoordinatorStateFixture.worker(49, false));
    fixture.advance(1_000);
    fixture.coordinator.onProcessEnded("worker 2", "killed");
  }

  @Test
  void shouldAnnounceThatAllWorkersGoBack() {
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);

    assertEquals(Optional.of(SAVED), choose(FILES, FILES, FILES).orElseThrow().from());

    assertEquals(
        List.of(new ShardRolledBack(0, UpdatesCounted.NO_SERVER, 49, 40, "")),
        fixture.events(ShardRolledBack.class));
    choose(FILES, FILES, FILES);
    assertEquals(1, fixture.events(ShardRolledBack.class).size(), "answered again");
  }

  @Test
  void shouldRefuseAWorkerThatCanReadNoCheckpointOfTheLostRank() {
    fixture.joinFrom("blind", Role.WORKER, MemberStatus.NONE);

    assertEquals(Optional.empty(), choose(FILES, FILES, NOTHING));

    assertFalse(fixture.coordinator.isHere(BACK));
    String why = "can read no checkpoint of its rank; set a checkpoint.directory there that has";
    List<MemberLeft> left = fixture.events(MemberLeft.class);
    assertTrue(left.get(left.size() - 1).reason().contains(why), left.toString());
    assertEquals(List.of(), fixture.events(ShardRolledBack.class), "nothing is lost");
    JoinRequest again =
        CoordinatorStateFixture.request("2", "blind", Role.WORKER, MemberStatus.NONE);
    JoinException waits = assertThrows(JoinException.class, () -> fixture.coordinator.join(again));
    assertTrue(waits.worthRetrying(), "it waits for a place");
    assertTrue(waits.getMessage().contains("set a checkpoint.directory"), waits.getMessage());

    fixture.advance(1_000);
    assertEquals(2, fixture.last(Adopt.class).rank());
    fixture.joinAsSubstitute();
    assertEquals(Optional.of(SAVED), choose(FILES, FILES, FILES).orElseThrow().from());
  }

  @Test
  void shouldSayWhyAllStartOverWhenNobodyCanReadTheCheckpointsOfARank() {
    fixture.joinFrom("blind", Role.WORKER, MemberStatus.NONE);
    choose(FILES, FILES, NOTHING);
    fixture.joinAsSubstitute();

    assertEquals(
        Optional.of(RunVersion.BEGINNING), choose(FILES, FILES, NOTHING).orElseThrow().from());

    ShardRolledBack back = fixture.events(ShardRolledBack.class).get(0);
    assertEquals(49, back.known());
    assertEquals(0, back.version());
    assertTrue(
        back.reason()
            .startsWith(
                "worker 2 (incarnation 2) at nowhere can read no checkpoint of its rank; set a"),
        back.reason());
    JoinRequest again =
        CoordinatorStateFixture.request("2", "blind", Role.WORKER, MemberStatus.NONE);
    assertEquals(
        Optional.of("worker 2 (incarnation 2)"),
        fixture.coordinator.standsBy(again),
        "it may come now");
  }

  @Test
  void shouldSayThatThereIsNoCheckpointYet() {
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);

    choose(NOTHING, NOTHING, NOTHING);

    assertEquals(
        "no checkpoint is whole in all workers yet (checkpoint.seconds)",
        fixture.events(ShardRolledBack.class).get(0).reason());
  }

  @Test
  void shouldHandASubstitutesReplicaToTheWorkerThatComesForIt() {
    Admission substitute = fixture.joinAsSubstitute();
    choose(FILES, FILES, FILES);
    assertEquals(BACK, substitute);

    JoinRequest next = fixture.requestFrom("next", Role.WORKER, MemberStatus.NONE);
    assertEquals(Optional.of("worker 2 (incarnation 1)"), fixture.coordinator.standsBy(next));
    assertTrue(fixture.coordinator.isHere(substitute));
    assertEquals(List.of(new HandOver(substitute, true)), fixture.all(HandOver.class));
    assertEquals(List.of(), fixture.all(Succeed.class), "its process stays");
    JoinRequest third = fixture.requestFrom("third", Role.WORKER, MemberStatus.NONE);
    assertEquals(Optional.empty(), fixture.coordinator.standsBy(third));
    fixture.coordinator.handedOver(substitute, MemberStatus.NONE);
    fixture.leave(substitute);
    assertTrue(fixture.last(Hold.class).pause().holds());
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);

    assertEquals(2, fixture.published().worker(2).orElseThrow().incarnation());
    assertFalse(fixture.last(Hold.class).pause().holds());
  }

  @Test
  void shouldKeepASubstituteWhenTheNewcomerHasGone() {
    Admission substitute = fixture.joinAsSubstitute();
    choose(FILES, FILES, FILES);
    fixture.coordinator.standsBy(fixture.requestFrom("next", Role.WORKER, MemberStatus.NONE));
    fixture.coordinator.notHandedOver(substitute);

    fixture.advance(60_000);

    assertTrue(fixture.coordinator.isHere(substitute));
    assertFalse(fixture.last(Hold.class).pause().holds());
  }

  /** All went back from 49 to 40; the job is interrupted at 43. */
  @Test
  void shouldCountNoStepAsLostThatResumeRepeats() {
    fixture.joinFrom("next", Role.WORKER, MemberStatus.NONE);
    choose(FILES, FILES, FILES);
    fixture.setStatuses(member -> CoordinatorStateFixture.worker(43, false));
    fixture.advance(1_000);

    fixture.coordinator.countReplicas();

    for (int rank = 0; rank < 3; rank++) {
      assertEquals(
          new UpdatesCounted(0, UpdatesCounted.NO_SERVER, rank, 43, 43, 0, 0, 0, 0, 0),
          fixture.events(UpdatesCounted.class).get(rank));
    }
  }

  /** Every present worker reports the version that it has in memory, and these files. */
  private Optional<Choice> choose(
      List<RunVersion> first, List<RunVersion> second, List<RunVersion> third) {
    Optional<Choice> choice = Optional.empty();
    List<List<RunVersion>> files = List.of(first, second, third);
    for (Admission member : fixture.coordinator.members(Role.WORKER)) {
      choice =
          fixture.coordinator.choice(
              new Candidates(
                  member,
                  fixture.published().epoch(),
                  Rule.COMMON_STATE,
                  Optional.empty(),
                  files.get(member.rank()),
                  List.of(),
                  false,
                  true));
    }
    return choice;
  }
}
