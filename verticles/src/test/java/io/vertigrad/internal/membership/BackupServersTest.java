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

  private final CoordinatorStateFixture stage =
      new CoordinatorStateFixture(
              CoordinatorStateFixture.withBackups(CoordinatorStateFixture.config(1, 2, 2, true)))
          .started(2, 2);

  @Test
  void shouldTellNoWorkerOfABackup() {
    assertEquals(List.of(new Member(0, 0, 0)), stage.published().servers());
    assertThrows(JoinException.class, () -> stage.join(Role.SERVER));
  }

  @Test
  void shouldHaveTheServerReplicateOnceAndSayWhenTheBackupLacksNothing() {
    stage.pass(1_000);
    assertEquals(List.of(new Replicate(PRIMARY, BACKUP)), stage.all(Replicate.class));
    assertTrue(stage.coordinator.isPending(PRIMARY, BACKUP));

    stage.coordinator.replicated(PRIMARY, BACKUP);

    assertFalse(stage.coordinator.isPending(PRIMARY, BACKUP));
    assertTrue(stage.events(BackupChanged.class).get(0).complete());
  }

  @Test
  void shouldPromoteTheBackupAndLetWorkersStayWhenTheServerIsLost() {
    stage.coordinator.replicated(PRIMARY, BACKUP);

    lose(PRIMARY);

    assertEquals(new Promote(BACKUP, PROMOTED), stage.last(Promote.class));
    assertTrue(stage.coordinator.awaitsPromotion(PROMOTED));
    assertTrue(stage.coordinator.heartbeat(BACKUP, MemberStatus.NONE), "it has not heard of it");
    stage.says(PROMOTED, SERVES);
    stage.acceptAll();
    assertFalse(stage.coordinator.awaitsPromotion(PROMOTED));
    assertEquals(List.of(new Member(0, 1, 0)), stage.published().servers());
    assertEquals(List.of(new Member(0, 0, 0), new Member(1, 0, 0)), stage.published().workers());
    assertFalse(stage.coordinator.heartbeat(BACKUP, MemberStatus.NONE), "it has another rank");
  }

  @Test
  void shouldNotLetTheOldServerGoOnAloneOnceItsBackupWasPromoted() {
    stage.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);

    assertFalse(stage.coordinator.dropBackup(PRIMARY, BACKUP, "it refuses"));
    assertTrue(stage.coordinator.awaitsPromotion(PROMOTED));
  }

  @Test
  void shouldMakeABackupOfTheOldServerWhenItComesBack() {
    stage.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);
    stage.says(PROMOTED, SERVES);
    stage.acceptAll();

    Admission back = stage.joinAgain(PRIMARY);

    assertEquals(new Admission(Role.SERVER, 1, 1), back);
    assertEquals(new Replicate(PROMOTED, back), stage.last(Replicate.class));
  }

  @Test
  void shouldNotPromoteABackupThatMayLackSomething() {
    lose(PRIMARY);

    assertTrue(stage.all(Promote.class).isEmpty());
    assertEquals(new Admission(Role.SERVER, 0, 1), stage.joinAgain(BACKUP));
  }

  @Test
  void shouldNotPromoteABackupThatItsServerDoesWithout() {
    stage.coordinator.replicated(PRIMARY, BACKUP);

    assertTrue(stage.coordinator.dropBackup(PRIMARY, BACKUP, "no answer in time"));
    lose(PRIMARY);

    assertTrue(stage.all(Promote.class).isEmpty());
    BackupChanged told = stage.events(BackupChanged.class).get(1);
    assertFalse(told.complete());
    assertTrue(told.reason().contains("no answer in time"), told.reason());
  }

  @Test
  void shouldNotCountAnAnswerAboutABackupThatWasDroppedMeanwhile() {
    stage.coordinator.dropBackup(PRIMARY, BACKUP, "no answer in time");

    stage.coordinator.replicated(PRIMARY, BACKUP);
    lose(PRIMARY);

    assertTrue(stage.all(Promote.class).isEmpty());
  }

  @Test
  void shouldLetAWorkerBeginAnewWhenOnlyTheLostServerHadAStepOfItsPredecessor() {
    stage.coordinator.replicated(PRIMARY, BACKUP);
    lose(new Admission(Role.WORKER, 1, 0));
    Admission newcomer = stage.join(Role.WORKER);
    accept(new ProposalAnswer.Start(1, 7, 7));
    assertEquals(7, stage.published().worker(1).orElseThrow().firstStep());
    lose(PRIMARY);
    stage.says(PROMOTED, SERVES);

    accept(new ProposalAnswer.Start(1, 6, 6), new ProposalAnswer.Start(0, 6, 6));

    MemberLeft left = stage.events(MemberLeft.class).get(stage.events(MemberLeft.class).size() - 1);
    assertEquals("worker 1 1", left.role() + " " + left.rank() + " " + left.incarnation());
    assertFalse(stage.coordinator.heartbeat(newcomer, MemberStatus.NONE));
    assertTrue(stage.coordinator.heartbeat(new Admission(Role.WORKER, 0, 0), MemberStatus.NONE));
  }

  @Test
  void shouldLetANewcomerWaitUntilThePromotedServerSaysWhereItGoesOn() {
    stage.coordinator.replicated(PRIMARY, BACKUP);
    lose(new Admission(Role.WORKER, 1, 0));
    lose(PRIMARY);

    stage.join(Role.WORKER);
    assertTrue(stage.published().worker(1).isEmpty(), "nobody knows its first step");
    stage.says(PROMOTED, SERVES);
    accept(new ProposalAnswer.Start(1, 6, 6));

    assertEquals(6, stage.published().worker(1).orElseThrow().firstStep());
  }

  /** An empty server joins before the one that still has its shard in memory. */
  @Test
  void shouldServeFromTheNewestMemoryWhicheverServerComesFirst() {
    CoordinatorStateFixture resumed = resumed();
    Admission empty = resumed.join(Role.SERVER);

    Admission survivor = resumed.joinAgain(PRIMARY, 1_842);
    resumed.says(survivor, MemberStatus.ofServer(1_842, 60, true, Optional.empty()));
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
    resumed.pass(9_000);
    assertEquals(List.of(), resumed.all(Decision.Propose.class));

    Admission survivor = resumed.joinAgain(PRIMARY, 1_842);

    assertEquals(0, survivor.rank());
  }

  /** The start waits only for a limited time, because that process may have died. */
  @Test
  void shouldSayThatTrainingGoesBackWhenTheNewestVersionComesTooLate() {
    CoordinatorStateFixture resumed = resumed();
    resumed.repeats(resumed.join(Role.SERVER, FakeMember.LAYOUT, EMPTY), EMPTY);
    resumed.join(Role.WORKER);
    resumed.join(Role.WORKER);
    resumed.pass(11_000);
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
    resumed.says(new Admission(Role.WORKER, 0, FIRST), MemberStatus.NONE);
    resumed.join(Role.WORKER);
    resumed.acceptAll();

    assertEquals(
        List.of(new ShardRolledBack(0, 0, 1_842, 0)), resumed.events(ShardRolledBack.class));
  }

  @Test
  void shouldKeepNoMemoryOfAShardThatAnotherServerHasServedSince() {
    lose(PRIMARY);
    stage.coordinator.leave(BACKUP, LeaveReason.read("its process ended"), MemberStatus.NONE);
    Admission other = stage.join(Role.SERVER);
    stage.says(other, SERVES);
    stage.acceptAll();
    stage.coordinator.leave(other, LeaveReason.read("its process ended"), MemberStatus.NONE);

    Admission back = stage.joinAgain(PRIMARY, 5);

    assertEquals(0, back.rank());
    assertFalse(stage.coordinator.continuesFromMemory(back));
  }

  private static CoordinatorStateFixture resumed() {
    CoordinatorConfig first = CoordinatorStateFixture.config(1, 2, 2, true);
    return new CoordinatorStateFixture(
        CoordinatorStateFixture.resumed(CoordinatorStateFixture.withBackups(first)));
  }

  private void accept(ProposalAnswer.Start... starts) {
    int epoch = stage.last(Decision.Propose.class).next().epoch();
    stage.coordinator.accepted(epoch, 0, new ProposalAnswer(OptionalLong.empty(), List.of(starts)));
  }

  private void lose(Admission member) {
    stage.silence(member);
    stage.coordinator.leave(member, LeaveReason.read("its process ended"), MemberStatus.NONE);
  }
}
