package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.ProposalAnswer.Held;
import io.vertigrad.job.Role;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** Tests two servers that move in rounds, one of which comes back from a checkpoint. */
final class GoBackTest {

  private static final Admission LOST_SERVER = new Admission(Role.SERVER, 1, 0);

  private CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);

  @Test
  void shouldSendAllServersToTheNewestVersionThatEachOfThemHasKept() {
    Admission back = rejoin(40);

    answer(0, new Held(57, 58, List.of(50L, 40L, 30L, 0L)));
    answer(1, new Held(40, 40, List.of(40L, 30L, 0L)));

    assertEquals(OptionalLong.of(40), fixture.coordinator.rollbackVersion(Role.SERVER));
    assertEquals(OptionalLong.empty(), fixture.coordinator.rollbackVersion(Role.WORKER));
    assertFalse(fixture.coordinator.heartbeat(new Admission(Role.SERVER, 0, 0), MemberStatus.NONE));
    assertFalse(fixture.coordinator.heartbeat(back, MemberStatus.NONE));
    List<MemberLeft> left = fixture.events(MemberLeft.class);
    assertTrue(
        left.get(left.size() - 1).reason().contains("all servers go back to version 40"),
        left.get(left.size() - 1).reason());
  }

  @Test
  void shouldForgetTheVersionWhenAllServersAreThere() {
    rejoin(40);
    answer(0, new Held(57, 58, List.of(50L, 40L, 0L)));
    answer(1, new Held(40, 40, List.of(40L, 0L)));

    fixture.join(Role.SERVER, FakeMember.LAYOUT, restored(40));
    answer(0, new Held(40, 40, List.of(40L, 0L)));
    assertEquals(OptionalLong.of(40), fixture.coordinator.rollbackVersion(Role.SERVER));
    fixture.join(Role.SERVER, FakeMember.LAYOUT, restored(40));
    answer(0, new Held(40, 40, List.of(40L, 0L)));
    answer(1, new Held(40, 40, List.of(40L, 0L)));

    assertEquals(OptionalLong.empty(), fixture.coordinator.rollbackVersion(Role.SERVER));
    assertEquals(2, fixture.published().servers().size());
  }

  /**
   * One may have closed the round that the other has not; a worker repeats its step for the other.
   */
  @Test
  void shouldKeepServersWhenTheyAreOneRoundApart() {
    rejoin(57);

    answer(0, new Held(57, 58, List.of(50L, 0L)));
    answer(1, new Held(57, 57, List.of(57L, 0L)));

    assertEquals(OptionalLong.empty(), fixture.coordinator.rollbackVersion(Role.SERVER));
    assertTrue(fixture.coordinator.heartbeat(new Admission(Role.SERVER, 0, 0), MemberStatus.NONE));
  }

  /** One that came back may lack its part of a sum that the other still needs. */
  @Test
  void shouldSendAllServersBackWhenTheyAreOneRoundApartAndRoundsNeedSumsOfAll() {
    CoordinatorConfig plain = CoordinatorStateFixture.config(2, 2, true);
    CoordinatorConfig sums =
        new CoordinatorConfig(
            plain.run(),
            plain.terms(),
            plain.strategy(),
            plain.traits().summingPartitions(),
            plain.steps(),
            plain.lastVersion(),
            plain.places(),
            plain.waitMillis(),
            plain.exchange(),
            plain.checkpoint(),
            plain.stop(),
            plain.evaluations(),
            plain.names());
    fixture = new CoordinatorStateFixture(sums).started(2, 2);
    rejoin(57);

    answer(0, new Held(58, 58, List.of(50L, 0L)));
    answer(1, new Held(57, 57, List.of(57L, 50L, 0L)));

    assertEquals(OptionalLong.of(50), fixture.coordinator.rollbackVersion(Role.SERVER));
  }

  @Test
  void shouldStartOverWhenThereIsNoCommonVersion() {
    rejoin(0);

    answer(0, new Held(57, 57, List.of(50L, 0L)));
    answer(1, new Held(0, 0, List.of(0L)));

    assertEquals(OptionalLong.of(0), fixture.coordinator.rollbackVersion(Role.SERVER));
  }

  /** With a quorum, other workers go on between the answers of two servers. */
  @Test
  void shouldKeepServersWhenNoneOfThemReturned() {
    Admission worker = new Admission(Role.WORKER, 1, 0);
    fixture.silence(worker);
    fixture.coordinator.leave(worker, LeaveReason.read("its process ended"), MemberStatus.NONE);

    answer(0, new Held(57, 57, List.of(50L, 0L)));
    answer(1, new Held(60, 60, List.of(50L, 0L)));

    assertEquals(OptionalLong.empty(), fixture.coordinator.rollbackVersion(Role.SERVER));
    assertTrue(fixture.coordinator.heartbeat(new Admission(Role.SERVER, 0, 0), MemberStatus.NONE));
    assertFalse(fixture.published().hasWorker(1, 0));
  }

  private Admission rejoin(long version) {
    fixture.silence(LOST_SERVER);
    fixture.coordinator.leave(
        LOST_SERVER, LeaveReason.read("its process ended"), MemberStatus.NONE);
    return fixture.join(Role.SERVER, FakeMember.LAYOUT, restored(version));
  }

  private static MemberStatus restored(long version) {
    return new ServerStatus(version, 0, true, 0, Optional.empty(), Optional.empty());
  }

  private void answer(int server, Held held) {
    int epoch = fixture.last(Decision.Propose.class).next().epoch();
    fixture.coordinator.accepted(epoch, server, ProposalAnswer.ACCEPTED.with(held));
  }
}
