package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.JoinException;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.json.JsonObject;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CoordinatorStateTest {

  @Test
  void shouldPublishTheFirstMembershipOnlyWhenEveryServerHasAgreed() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true));
    fixture.join(Role.WORKER);
    fixture.join(Role.SERVER);
    fixture.join(Role.SERVER);
    assertTrue(fixture.all(Decision.Propose.class).isEmpty());

    fixture.join(Role.WORKER);
    fixture.coordinator.accepted(1, 0, ProposalAnswer.ACCEPTED);
    assertTrue(fixture.all(Decision.Publish.class).isEmpty());
    fixture.coordinator.accepted(1, 1, ProposalAnswer.ACCEPTED);

    List<Member> two = List.of(new Member(0, 0, 0), new Member(1, 0, 0));
    assertEquals(new Membership(1, two, two), fixture.published());
    assertEquals(2, fixture.events(JobStarted.class).get(0).workers());
  }

  @Test
  void shouldNotStartWhileAServerIsStillStarting() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 1, true));
    MemberStatus starting = ControlCodec.status(new JsonObject().put("starting", true));
    Admission server = fixture.join(Role.SERVER, FakeMember.LAYOUT, starting);
    fixture.join(Role.WORKER);
    assertTrue(fixture.all(Decision.Propose.class).isEmpty());

    fixture.heartbeat(server, MemberStatus.NONE);

    assertEquals(1, fixture.all(Decision.Propose.class).size());
  }

  /** On a busy machine processes take long to start, each after the other. */
  @Test
  void shouldWaitForTheStartSinceTheLastSignOfAStartingMember() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
    fixture.advance(50_000);
    fixture.coordinator.onClusterNodes(Set.of("coordinator", "server"));
    fixture.advance(50_000);
    Admission server = fixture.join(Role.SERVER, FakeMember.LAYOUT, MemberStatus.STARTING);
    fixture.setStatus(server, MemberStatus.STARTING);
    fixture.advance(50_000);
    fixture.setStatus(server, MemberStatus.NONE);
    fixture.advance(50_000);
    fixture.coordinator.onProcessRuns("host pid 7");
    fixture.advance(50_000);
    assertEquals(JobPhase.WAITING, fixture.coordinator.state());

    fixture.coordinator.onClusterNodes(Set.of("coordinator"));
    fixture.coordinator.onProcessRuns("nowhere");
    fixture.advance(10_200);

    assertTrue(
        fixture.failure().startsWith("the job did not start within 60 s: missing worker 0, worker"),
        fixture.failure());
    assertTrue(fixture.failure().contains("the last sign of a starting member"));
  }

  @Test
  void shouldStartNoReplacementWhenTheJobIsStopping() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    assertFalse(fixture.coordinator.stops());

    fixture.coordinator.announceStop();
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.STOPPED, MemberStatus.NONE);
    fixture.advance(5_000);

    assertTrue(fixture.all(Decision.Adopt.class).isEmpty());
    assertTrue(fixture.coordinator.stops());
  }

  @ParameterizedTest
  @CsvSource({"shared, 1", "own, 0"})
  void shouldGiveALostRankToAnotherProcessWhenItHasTheSameData(String data, int asked) {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(
                CoordinatorStateFixture.agreeing(
                    CoordinatorStateFixture.config(1, 3, 3, true), Map.of("workers.data", data)))
            .started(1, 3);

    fixture.coordinator.leave(
        new Admission(Role.WORKER, 1, 0), LeaveReason.lost("silent"), MemberStatus.NONE);
    fixture.acceptAll();
    fixture.advance(5_000);

    assertEquals(asked, fixture.all(Decision.Adopt.class).size());
  }

  @Test
  void shouldWaitForTheEvaluatorOnlyBriefly() {
    CoordinatorConfig one = CoordinatorStateFixture.config(1, 1, true);
    CoordinatorStateFixture fixture = new CoordinatorStateFixture(withEvaluator(one));
    fixture.join(Role.SERVER);
    fixture.join(Role.WORKER);

    fixture.advance(4_900);
    assertTrue(fixture.all(Decision.Propose.class).isEmpty());
    fixture.advance(200);

    assertEquals(1, fixture.all(Decision.Propose.class).size());
  }

  @Test
  void shouldAdmitOnceWhenAJoinIsRepeated() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
    JoinRequest request =
        CoordinatorStateFixture.request("same", "nowhere", Role.WORKER, MemberStatus.NONE);

    Admission first = fixture.coordinator.join(request);

    assertEquals(first, fixture.coordinator.join(request));
  }

  @Test
  void shouldUseTheFirstFingerprintOfEachKindAsTheJobs() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true));
    fixture.coordinator.join(showing("1", Map.of("trainingData", fingerprint("aa"))));

    fixture.coordinator.join(
        showing("2", Map.of("trainingData", fingerprint("aa"), "testData", fingerprint("bb"))));
    fixture.coordinator.join(showing("3", Map.of()));
    JoinException refused =
        assertThrows(
            JoinException.class,
            () ->
                fixture.coordinator.join(
                    showing(
                        "4", Map.of("model", fingerprint("dd"), "testData", fingerprint("cc")))));

    assertEquals(
        "worker at nowhere is refused: it has other data than the job, testData: found 9 samples,"
            + " expected 9 samples with other values or other classes; give it the same files",
        refused.getMessage());
    assertEquals(
        Map.of("trainingData", fingerprint("aa"), "testData", fingerprint("bb")),
        fixture.coordinator.fingerprints(),
        "a member that was refused decides nothing");
    assertEquals(
        List.of("9 samples (hash aa)", "", ""),
        fixture.events(MemberJoined.class).stream().map(MemberJoined::data).toList());
  }

  private static DataFingerprint fingerprint(String hash) {
    return new DataFingerprint("9 samples", hash, Optional.empty(), List.of());
  }

  private static JoinRequest showing(String token, Map<String, DataFingerprint> shown) {
    return new JoinRequest(
        Role.WORKER,
        token,
        "nowhere",
        "",
        new JobTerms(Map.of(), shown),
        FakeMember.LAYOUT,
        false,
        Optional.empty(),
        OptionalLong.empty(),
        MemberStatus.NONE);
  }

  @Test
  void shouldDoubleTheMarginUntilEveryServerIsBehindTheFirstRound() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(2, 2, true)).started(2, 2);
    fixture.join(Role.WORKER);
    assertEquals(Optional.of(new Member(2, 0, 4)), proposed(fixture).worker(2));

    fixture.coordinator.accepted(2, 0, ProposalAnswer.ACCEPTED);
    fixture.coordinator.refused(2, 1, 100);
    assertEquals(Optional.of(new Member(2, 0, 108)), proposed(fixture).worker(2));
    fixture.coordinator.refused(3, 0, 110);
    assertEquals(Optional.of(new Member(2, 0, 126)), proposed(fixture).worker(2));
    assertEquals(1, fixture.published().epoch());
    fixture.acceptAll();

    assertEquals(4, fixture.published().epoch());
    assertEquals(Optional.of(new Member(2, 0, 126)), fixture.published().worker(2));
    assertEquals(Optional.of(new Member(0, 0, 0)), fixture.published().worker(0));
  }

  @Test
  void shouldIgnoreAnswersToAnEarlierProposal() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    fixture.join(Role.WORKER);
    fixture.coordinator.refused(2, 0, 50);

    fixture.coordinator.accepted(2, 0, ProposalAnswer.ACCEPTED);
    fixture.coordinator.refused(2, 0, 70);

    assertEquals(3, proposed(fixture).epoch());
    assertEquals(1, fixture.published().epoch());
  }

  @Test
  void shouldLetNewcomersStartAtOnceWhenWorkersDoNotMoveInRounds() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, false)).started(1, 2);
    fixture.heartbeat(new Admission(Role.WORKER, 0, 0), CoordinatorStateFixture.worker(400, false));

    fixture.join(Role.WORKER);
    fixture.acceptAll();

    assertEquals(Optional.of(new Member(2, 0, 0)), fixture.published().worker(2));
  }

  @Test
  void shouldConcludeWhenTheLastWorkerFinishedThoughAnotherDied() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    MemberStatus last = new WorkerStatus(1_000, 1_000, 5_000, "", 0, false, 0, false);

    fixture.coordinator.leave(new Admission(Role.WORKER, 0, 0), LeaveReason.FINISHED, last);
    assertTrue(fixture.all(Decision.Conclude.class).isEmpty());
    fixture.silence(new Admission(Role.WORKER, 1, 0));
    fixture.advance(10_000);
    fixture.coordinator.concluded(List.of(), List.of(), Optional.empty());

    assertEquals(1_000, fixture.last(Decision.Conclude.class).version());
    assertEquals(
        new JsonObject().put("state", "finished").put("version", 1_000).put("samples", 5_000),
        ControlCodec.write(fixture.last(Decision.Complete.class).outcome()));
  }

  @Test
  void shouldReleaseAllMembersWhenNobodyReadsAfterTheEnd() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 1, true)).started(1, 1);
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.FINISHED, MemberStatus.NONE);
    fixture.coordinator.concluded(List.of(), List.of(), Optional.empty());

    fixture.advance(59_000);
    assertTrue(fixture.all(Decision.Stop.class).isEmpty());
    fixture.advance(1_200);

    assertEquals(1, fixture.all(Decision.Stop.class).size());
    assertEquals(1, fixture.all(Decision.Complete.class).size());
  }

  @Test
  void shouldRefuseNewcomersWhenTheLastVersionIsReached() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    fixture.heartbeat(
        new Admission(Role.SERVER, 0, 0),
        ControlCodec.status(new JsonObject().put("version", 1_000)));

    JoinException refused = assertThrows(JoinException.class, () -> fixture.join(Role.WORKER));

    assertEquals("the job has reached its last version, 1000", refused.getMessage());
    assertTrue(refused.late());
  }

  @Test
  void shouldAdmitAnEvictedWorkerWithItsReplicaWhenAnotherHasReachedTheLastVersion() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(0, 3, false));
    Admission finished = fixture.join(Role.WORKER);
    fixture.join(Role.WORKER);
    Admission evicted = fixture.join(Role.WORKER);
    fixture.heartbeat(finished, CoordinatorStateFixture.worker(1_000, false));
    fixture.coordinator.leave(evicted, LeaveReason.lost("silent"), MemberStatus.NONE);

    JoinException refused = assertThrows(JoinException.class, () -> fixture.join(Role.WORKER));
    Admission back = fixture.joinAgain(evicted);

    assertTrue(refused.late());
    assertEquals(new Admission(Role.WORKER, 2, 1), back);
  }

  @Test
  void shouldReleaseANewcomerWhenTheJobEndsBeforeItsFirstRound() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, true)).started(1, 2);
    fixture.join(Role.WORKER);

    fixture.coordinator.refused(2, 0, 1_000);

    assertEquals(2, fixture.events(MemberLeft.class).get(0).rank());
    assertEquals(2, proposed(fixture).workers().size());
  }

  @Test
  void shouldRefuseAWorkerWithoutAShareUntilAPlaceIsLost() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, 2, true)).started(1, 2);

    JoinException refused = assertThrows(JoinException.class, () -> fixture.join(Role.WORKER));
    fixture.coordinator.leave(
        new Admission(Role.WORKER, 0, 0), LeaveReason.read("crashed"), MemberStatus.NONE);

    assertEquals(
        "worker at nowhere is refused: the job has all 2 of its workers (worker 0 at nowhere,"
            + " worker 1 at nowhere); it takes a place only when one is lost, because"
            + " workers.sampler \"distributed\" cuts the data into workers.count shares; to let any"
            + " number join, start the job with workers.sampler=none",
        refused.getMessage());
    assertTrue(refused.worthRetrying());
    assertEquals(new Admission(Role.WORKER, 0, 1), fixture.join(Role.WORKER));
  }

  /** A returning worker has that rank's replica in memory, and no other one. */
  @Test
  void shouldReturnARankToItsWorkerWhenOnlyAnAdoptedWorkerHasIt() {
    CoordinatorStateFixture fixture =
        new CoordinatorStateFixture(CoordinatorStateFixture.config(1, 2, 2, true)).started(1, 2);
    Admission first = new Admission(Role.WORKER, 0, 0);
    Admission second = new Admission(Role.WORKER, 1, 0);
    fixture.coordinator.leave(first, LeaveReason.lost("silent"), MemberStatus.NONE);
    fixture.coordinator.leave(second, LeaveReason.lost("silent"), MemberStatus.NONE);
    Admission adopted = fixture.joinAsSubstitute();
    assertEquals(0, adopted.rank());

    assertEquals(0, fixture.joinAgain(first).rank());
    assertEquals(1, fixture.joinAgain(second).rank());
    assertFalse(fixture.coordinator.heartbeat(adopted, MemberStatus.NONE), "it has given way");
  }

  private static Membership proposed(CoordinatorStateFixture fixture) {
    return fixture.last(Decision.Propose.class).next();
  }

  private static CoordinatorConfig withEvaluator(CoordinatorConfig c) {
    return CoordinatorStateFixture.with(c, CoordinatorStateFixture.withEvaluator(c.places()));
  }
}
