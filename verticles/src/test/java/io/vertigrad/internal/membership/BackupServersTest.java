package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.BackupChanged;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.ShardRolledBack;
import io.vertigrad.internal.membership.Decision.Promote;
import io.vertigrad.internal.membership.Decision.Replicate;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import io.vertigrad.strategy.Membership.Member;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

class BackupServersTest {

  private static final Admission PRIMARY = new Admission(Role.SERVER, 0, 0);
  private static final Admission BACKUP = new Admission(Role.SERVER, 1, 0);
  private static final Admission PROMOTED = new Admission(Role.SERVER, 0, 1);
  private static final MemberStatus EMPTY = MemberStatus.ofServer(0, 0, true, Optional.empty());
  private static final int FIRST = RunConfig.ADMISSIONS;
  private static final MemberStatus SERVES = MemberStatus.ofServer(6, 60, true, Optional.empty());

  private final CoordinatorStateFixture fixture =
      new CoordinatorStateFixture(
              CoordinatorStateFixture.withBackups(CoordinatorStateFixture.config(1, 2, 2, true)))
          .started(2, 2);

  @Test
  void shouldTellNoWorkerOfABackup() {
    assertEquals(List.of(new Member(0, 0, 0)), fixture.published().servers());
    assertThrows(JoinException.class, () -> fixture.join(Role.SERVER));
  }

  @Test
  void shouldHaveTheServerReplicateOnceAndSayWhenTheBackupLacksNothing() {
    fixture.advance(1_000);
    assertEquals(List.of(new Replicate(PRIMARY, BACKUP)), fixture.all(Replicate.class));
    assertTrue(fixture.coordinator.isPending(PRIMARY, BACKUP));

    fixture.coordinator.replicated(PRIMARY, BACKUP);

    assertFalse(fixture.coordinator.isPending(PRIMARY, BACKUP));
    assertTrue(fixture.events(BackupChanged.class).get(0).complete());
  }

  @Test
  void shouldPromoteTheBackupAndLetWorkersStayWhenTheServerIsLost() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);

    lose(PRIMARY);

    assertEquals(new Promote(BACKUP, PROMOTED), fixture.last(Promote.class));
    assertTrue(fixture.coordinator.awaitsPromotion(PROMOTED));
    assertTrue(fixture.coordinator.heartbeat(BACKUP, MemberStatus.NONE), "it has not heard of it");
    fixture.heartbeat(PROMOTED, SERVES);
    fixture.acceptAll();
    assertFalse(fixture.coordinator.awaitsPromotion(PROMOTED));
    assertEquals(List.of(new Member(0, 1, 0)), fixture.published().servers());
    assertEquals(List.of(new Member(0, 0, 0), new Member(1, 0, 0)), fixture.published().workers());
    assertFalse(fixture.coordinator.heartbeat(BACKUP, MemberStatus.NONE), "it has another rank");
  }

  @Test
  void shouldNotLetTheOldServerGoOnAloneOnceItsBackupWasPromoted() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);

    assertFalse(fixture.coordinator.dropBackup(PRIMARY, BACKUP, "it refuses"));
    assertTrue(fixture.coordinator.awaitsPromotion(PROMOTED));
  }

  @Test
  void shouldMakeABackupOfTheOldServerWhenItComesBack() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);
    fixture.heartbeat(PROMOTED, SERVES);
    fixture.acceptAll();

    Admission back = fixture.joinAgain(PRIMARY);

    assertEquals(new Admission(Role.SERVER, 1, 1), back);
    assertEquals(new Replicate(PROMOTED, back), fixture.last(Replicate.class));
  }

  @Test
  void shouldNotPromoteABackupThatMayLackSomething() {
    lose(PRIMARY);

    assertTrue(fixture.all(Promote.class).isEmpty());
    assertEquals(new Admission(Role.SERVER, 0, 1), fixture.joinAgain(BACKUP));
  }

  @Test
  void shouldNotPromoteABackupThatItsServerDoesWithout() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);

    assertTrue(fixture.coordinator.dropBackup(PRIMARY, BACKUP, "no answer in time"));
    lose(PRIMARY);

    assertTrue(fixture.all(Promote.class).isEmpty());
    BackupChanged told = fixture.events(BackupChanged.class).get(1);
    assertFalse(told.complete());
    assertTrue(told.reason().contains("no answer in time"), told.reason());
  }

  @Test
  void shouldNotCountAnAnswerAboutABackupThatWasDroppedMeanwhile() {
    fixture.coordinator.dropBackup(PRIMARY, BACKUP, "no answer in time");

    fixture.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);

    assertTrue(fixture.all(Promote.class).isEmpty());
  }

  @Test
  void shouldLetAWorkerBeginAnewWhenOnlyTheLostServerHadAStepOfItsPredecessor() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);
    lose(new Admission(Role.WORKER, 1, 0));
    Admission newcomer = fixture.join(Role.WORKER);
    accept(new ProposalAnswer.Start(1, 7, 7));
    assertEquals(7, fixture.published().worker(1).orElseThrow().firstStep());
    lose(PRIMARY);
    fixture.heartbeat(PROMOTED, SERVES);

    accept(new ProposalAnswer.Start(1, 6, 6), new ProposalAnswer.Start(0, 6, 6));

    MemberLeft left =
        fixture.events(MemberLeft.class).get(fixture.events(MemberLeft.class).size() - 1);
    assertEquals("worker 1 1", left.role().lower() + " " + left.rank() + " " + left.incarnation());
    assertFalse(fixture.coordinator.heartbeat(newcomer, MemberStatus.NONE));
    assertTrue(fixture.coordinator.heartbeat(new Admission(Role.WORKER, 0, 0), MemberStatus.NONE));
  }

  @Test
  void shouldLetANewcomerWaitUntilThePromotedServerSaysWhereItGoesOn() {
    fixture.coordinator.replicated(PRIMARY, BACKUP);
    lose(new Admission(Role.WORKER, 1, 0));
    lose(PRIMARY);

    fixture.join(Role.WORKER);
    assertTrue(fixture.published().worker(1).isEmpty(), "nobody knows its first step");
    fixture.heartbeat(PROMOTED, SERVES);
    accept(new ProposalAnswer.Start(1, 6, 6));

    assertEquals(6, fixture.published().worker(1).orElseThrow().firstStep());
  }

  /** An empty server joins before the one that still has its shard in memory. */
  @Test
  void shouldServeFromTheNewestMemoryWhicheverServerComesFirst() {
    CoordinatorStateFixture resumed = resumed();
    Admission empty = resumed.join(Role.SERVER);

    Admission survivor = resumed.joinAgain(PRIMARY, 1_842);
    resumed.heartbeat(survivor, MemberStatus.ofServer(1_842, 60, true, Optional.empty()));
    resumed.join(Role.WORKER);
    resumed.join(Role.WORKER);

    assertEquals(0, survivor.rank());
    assertTrue(resumed.coordinator.continuesFromMemory(survivor));
    assertFalse(resumed.coordinator.heartbeat(empty, MemberStatus.NONE), "it has given way");
    assertEquals(1, resumed.joinAgain(empty).rank());
    resumed.acceptAll();
    assertEquals(survivor.incarnation(), resumed.published().servers().get(0).incarnation());
    assertEquals(List.of(), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldServeFromABackupsCopyWhenItsServerIsGone() {
    CoordinatorStateFixture resumed = resumed();
    resumed.join(Role.SERVER);

    Admission survivor = resumed.joinAgain(BACKUP, 1_842);

    assertEquals(0, survivor.rank());
    assertTrue(resumed.coordinator.continuesFromMemory(survivor));
  }

  @Test
  void shouldNotStartWithAnEmptyServerWhileAnotherMayComeWithANewerVersion() {
    CoordinatorStateFixture resumed = resumed();
    resumed.join(Role.SERVER);
    resumed.join(Role.WORKER);
    resumed.join(Role.WORKER);
    resumed.advance(9_000);
    assertEquals(List.of(), resumed.all(Decision.Propose.class));

    Admission survivor = resumed.joinAgain(PRIMARY, 1_842);

    assertEquals(0, survivor.rank());
  }

  /** The start waits only for a limited time, because that process may have died. */
  @Test
  void shouldSayThatTrainingGoesBackWhenTheNewestVersionComesTooLate() {
    CoordinatorStateFixture resumed = resumed();
    resumed.setStatus(resumed.join(Role.SERVER, FakeMember.LAYOUT, EMPTY), EMPTY);
    resumed.join(Role.WORKER);
    resumed.join(Role.WORKER);
    resumed.advance(11_000);
    resumed.acceptAll();

    Admission late = resumed.joinAgain(PRIMARY, 1_842);

    assertEquals(1, late.rank());
    assertFalse(resumed.coordinator.continuesFromMemory(late));
    assertEquals(
        List.of(new ShardRolledBack(0, 0, 1_842, 0)), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldSayThatTrainingGoesBackWhenOnlyWorkersHaveSeenTheNewestVersion() {
    CoordinatorStateFixture resumed = resumed();
    resumed.join(Role.SERVER, FakeMember.LAYOUT, EMPTY);
    resumed.join(Role.SERVER);
    resumed.joinAgain(new Admission(Role.WORKER, 0, 0), 1_842);
    resumed.heartbeat(new Admission(Role.WORKER, 0, FIRST), MemberStatus.NONE);
    resumed.join(Role.WORKER);
    resumed.acceptAll();

    assertEquals(
        List.of(new ShardRolledBack(0, 0, 1_842, 0)), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldKeepNoMemoryOfAShardThatAnotherServerHasServedSince() {
    lose(PRIMARY);
    fixture.coordinator.leave(BACKUP, LeaveReason.read("its process ended"), MemberStatus.NONE);
    Admission other = fixture.join(Role.SERVER);
    fixture.heartbeat(other, SERVES);
    fixture.acceptAll();
    fixture.coordinator.leave(other, LeaveReason.read("its process ended"), MemberStatus.NONE);

    Admission back = fixture.joinAgain(PRIMARY, 5);

    assertEquals(0, back.rank());
    assertFalse(fixture.coordinator.continuesFromMemory(back));
  }

  private static CoordinatorStateFixture resumed() {
    CoordinatorConfig first = CoordinatorStateFixture.config(1, 2, 2, true);
    return new CoordinatorStateFixture(
        CoordinatorStateFixture.resumed(CoordinatorStateFixture.withBackups(first)));
  }

  private void accept(ProposalAnswer.Start... starts) {
    int epoch = fixture.last(Decision.Propose.class).next().epoch();
    fixture.coordinator.accepted(
        epoch, 0, new ProposalAnswer(OptionalLong.empty(), List.of(starts)));
  }

  private void lose(Admission member) {
    fixture.silence(member);
    fixture.coordinator.leave(member, LeaveReason.read("its process ended"), MemberStatus.NONE);
  }
}
