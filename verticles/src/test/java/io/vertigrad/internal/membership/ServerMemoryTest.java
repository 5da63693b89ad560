package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Servers that come back with their shard in memory, and servers that come without one. */
class ServerMemoryTest {

  private static final Admission SERVER = new Admission(Role.SERVER, 0, 0);
  private static final int FIRST = RunConfig.ADMISSIONS;
  private static final MemberStatus EMPTY =
      new ServerStatus(0, 0, true, 0, Optional.empty(), Optional.empty());
  private static final MemberStatus SERVES =
      new ServerStatus(6, 60, true, 0, Optional.empty(), Optional.empty());

  /** An empty server joins before the one that still has its shard in memory. */
  @Test
  void shouldServeFromTheNewestMemoryWhenAnEmptyServerJoinsFirst() {
    CoordinatorStateFixture resumed = resumed(1);
    Admission empty = resumed.join(Role.SERVER);

    Admission survivor = resumed.joinAgain(SERVER, 1_842);
    resumed.heartbeat(
        survivor, new ServerStatus(1_842, 60, true, 0, Optional.empty(), Optional.empty()));
    resumed.join(Role.WORKER);
    resumed.join(Role.WORKER);

    assertEquals(0, survivor.rank());
    assertTrue(resumed.coordinator.continuesFromMemory(survivor));
    assertFalse(resumed.coordinator.heartbeat(empty, MemberStatus.NONE), "it has given way");
    resumed.acceptAll();
    assertEquals(survivor.incarnation(), resumed.published().servers().get(0).incarnation());
    assertEquals(List.of(), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldReportThatTrainingGoesBackWhenOnlyWorkersHaveSeenTheNewestVersion() {
    CoordinatorStateFixture resumed = resumed(1);
    resumed.join(Role.SERVER, FakeMember.LAYOUT, EMPTY);
    resumed.joinAgain(new Admission(Role.WORKER, 0, 0), 1_842);
    resumed.heartbeat(new Admission(Role.WORKER, 0, FIRST), MemberStatus.NONE);
    resumed.join(Role.WORKER);
    resumed.acceptAll();

    assertEquals(
        List.of(new ShardRolledBack(0, 0, 1_842, 0, "")), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldDiscardAShardThatAnotherServerHasServedSince() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, 2, true)).started(1, 2);
    lose(fixture, SERVER);
    Admission other = fixture.join(Role.SERVER);
    fixture.heartbeat(other, SERVES);
    fixture.acceptAll();
    lose(fixture, other);

    Admission back = fixture.joinAgain(SERVER, 5);

    assertEquals(0, back.rank());
    assertFalse(fixture.coordinator.continuesFromMemory(back));
  }

  private static CoordinatorStateFixture resumed(int servers) {
    CoordinatorConfig first = CoordinatorStateFixture.config(servers, 2, 2, true);
    return new CoordinatorStateFixture(CoordinatorStateFixture.resumed(first));
  }

  private static void lose(CoordinatorStateFixture fixture, Admission member) {
    fixture.silence(member);
    fixture.coordinator.leave(member, LeaveReason.read("its process ended"), MemberStatus.NONE);
  }
}
