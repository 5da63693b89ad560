package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.compute.data.DataFingerprint.FilePart;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JobCommand;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReportCandidates;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.MemberStatus.EvaluatorStatus;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.internal.membership.VersionChoice.Candidates;
import io.vertigrad.internal.membership.VersionChoice.Choice;
import io.vertigrad.internal.membership.VersionChoice.Rule;
import io.vertigrad.internal.membership.VersionChoice.RunVersion;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

final class ControlCodecTest {

  private static final Admission WORKER = new Admission(Role.WORKER, 3, 2);
  private static final Membership MEMBERSHIP =
      new Membership(7, List.of(new Member(0, 1, 12)), List.of(new Member(0, 0, 0)));
  private static final MemberStatus SERVING =
      new ServerStatus(
          17,
          4_352,
          true,
          0,
          Optional.of(new StragglerReport(2, 18, List.of(1, 3))),
          Optional.of(new ServerProgress(5, 0, 0, 17, 4_352, 17, 1, 2, 3, 4)));

  static Stream<ControlRequest> requests() {
    return Stream.of(
        new JoinRequest(
            Role.SERVER,
            "token",
            "here pid 1",
            "node 1",
            new JobTerms(
                Map.of("seed", "7"),
                Map.of(
                    "model",
                    new DataFingerprint(
                        "", "0a", Optional.of("0b"), List.of(new FilePart("net.zip", 12, "0a"))))),
            FakeMember.LAYOUT,
            true,
            Optional.of(new Admission(Role.SERVER, 1, 4)),
            OptionalLong.of(1_842),
            MemberStatus.STARTING),
        new Heartbeat(
            WORKER,
            7,
            new WorkerStatus(10, 9, 0, "computing", 5, true, 0, false),
            Optional.of(
                new Vitals(
                    Map.of(
                        Vital.CORES,
                        1.5,
                        Vital.PROCESSORS,
                        2.0,
                        Vital.HEAP,
                        3.0,
                        Vital.HEAP_LIMIT,
                        4.0,
                        Vital.OFF_HEAP,
                        5.0,
                        Vital.RESIDENT,
                        6.0,
                        Vital.BUSY_GPUS,
                        0.5,
                        Vital.GPU_MEMORY,
                        7.0,
                        Vital.ROUND_TRIP_MEDIAN,
                        0.25,
                        Vital.ROUND_TRIP_99,
                        7.5),
                    9,
                    Map.of(500, 8L))),
            new PauseReply(4, 11)),
        new Heartbeat(WORKER, 0, new EvaluatorStatus(3, 2, 1), Optional.empty(), PauseReply.NONE),
        new Leave(WORKER, LeaveReason.failed("NaN"), SERVING),
        new ControlRequest.ReadParameters("5f", true),
        new ReportCandidates(
            new Candidates(
                WORKER,
                7,
                Rule.ANY_MEMORY,
                Optional.of(new RunVersion(57, Long.MAX_VALUE)),
                List.of(RunVersion.BEGINNING, new RunVersion(50, 5)),
                List.of(new RunVersion(40, 5)),
                true,
                true)),
        new ReportCandidates(
            new Candidates(
                WORKER,
                7,
                Rule.COMMON_STATE,
                Optional.empty(),
                List.of(),
                List.of(),
                false,
                false)),
        new ControlRequest.DrainRequest(Optional.of("worker 1"), Optional.empty()),
        new AskDivision(WORKER, 40, 1_500, Optional.of(new BatchDivision(20, 40, List.of(3, 1)))),
        new AskDivision(WORKER, 0, 0, Optional.empty()),
        JobCommand.STATE,
        JobCommand.CHECKPOINT,
        JobCommand.PAUSE,
        JobCommand.RESUME,
        JobCommand.STOP);
  }

  @ParameterizedTest
  @MethodSource("requests")
  void shouldReadTheRequestThatItWrote(ControlRequest request) {
    assertEquals(request, ControlCodec.request(overTheWire(ControlCodec.write(request))));
  }

  static Stream<ControlAnswer> answers() {
    return Stream.of(
        new ControlAnswer.Refused("full", true, false),
        new ControlAnswer.Refused("over", false, true),
        new ControlAnswer.Refused("never", false, false),
        new ControlAnswer.Admitted(JobPhase.WAITING, 0, WORKER, "run 1", true, OptionalLong.of(40)),
        new ControlAnswer.Granted(
            JobPhase.PAUSED,
            7,
            Optional.of(MEMBERSHIP),
            Optional.of(new Pause(3, 40, 20, true, true, List.of(30L)))),
        new ControlAnswer.Granted(
            JobPhase.RUNNING, 7, Optional.empty(), Optional.of(new Pause(3, Long.MAX_VALUE))),
        new ControlAnswer.Chosen(
            JobPhase.RUNNING,
            7,
            new Choice(Optional.of(new RunVersion(50, 5)), OptionalLong.of(Long.MAX_VALUE))),
        new ControlAnswer.Chosen(JobPhase.RUNNING, 7, Choice.NONE),
        new ControlAnswer.Standby(JobPhase.RUNNING, 7, "worker 1 is about to leave"),
        new ControlAnswer.Divided(JobPhase.RUNNING, 7, new BatchDivision(20, 40, List.of(3, 1))),
        new ControlAnswer.Unknown(JobPhase.RUNNING, 8, "silent for 10 s"),
        new ControlAnswer.Released(JobPhase.FAILED, 8, "no worker is left"));
  }

  @ParameterizedTest
  @MethodSource("answers")
  void shouldReadTheAnswerThatItWrote(ControlAnswer answer) {
    assertEquals(answer, ControlCodec.answer(overTheWire(ControlCodec.write(answer))));
  }

  static Stream<Published> messages() {
    return Stream.of(
        new Published.MembershipPublished(MEMBERSHIP),
        new Published.PausePublished(new Pause(1, 0, EvaluationPlan.NONE, false, true, List.of())),
        new Published.DrainPublished("here pid 1"),
        new Published.StopPublished("done"));
  }

  @ParameterizedTest
  @MethodSource("messages")
  void shouldReadTheMessageThatItWrote(Published message) {
    JsonObject json = overTheWire(ControlCodec.write(message, JobPhase.ENDING));

    assertEquals(message, ControlCodec.message(json));
    assertEquals("ending", json.getString("state"));
  }

  static Stream<MemberRequest> memberRequests() {
    return Stream.of(
        new MemberRequest.Propose(MEMBERSHIP),
        new MemberRequest.Evaluate(1_000),
        MemberRequest.Command.STATUS,
        MemberRequest.Command.SAVE,
        MemberRequest.Command.CHECKPOINT);
  }

  @ParameterizedTest
  @MethodSource("memberRequests")
  void shouldReadTheRequestToAMemberThatItWrote(MemberRequest request) {
    assertEquals(request, ControlCodec.memberRequest(overTheWire(ControlCodec.write(request))));
  }

  static Stream<EvaluationResult> evaluations() {
    return Stream.of(
        new EvaluationResult(10, 11, 64, 0.5, 97.5, 3, 99.5, "ab", ""),
        new EvaluationResult(10, 11, 64, Double.NaN, 0, 0, 0, "ab", ""),
        new EvaluationResult(10, 11, 64, Double.POSITIVE_INFINITY, 0, 0, 0, "ab", ""));
  }

  @ParameterizedTest
  @MethodSource("evaluations")
  void shouldReadTestResultsOfADivergedTraining(EvaluationResult result) {
    assertEquals(result, ControlCodec.evaluation(overTheWire(ControlCodec.write(result))));
  }

  @ParameterizedTest
  @CsvSource({"true", "false"})
  void shouldReadTheOtherAnswersOfMembers(boolean any) {
    StepState state = new StepState(9, 3, any);
    Optional<Path> file = any ? Optional.of(Path.of("a", "b")) : Optional.empty();
    ProposalAnswer proposed =
        any
            ? ProposalAnswer.refused(12)
            : new ProposalAnswer(
                OptionalLong.empty(), List.of(new ProposalAnswer.Start(1, 12, 13)));

    assertEquals(state, ControlCodec.stepState(overTheWire(ControlCodec.write(state))));
    assertEquals(file, ControlCodec.file(overTheWire(ControlCodec.writeFile(file))));
    assertEquals(proposed, ControlCodec.proposalAnswer(overTheWire(ControlCodec.write(proposed))));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{'request':'heartbeat'}"
            + "|malformed request: heartbeat: role: found nothing, expected a text",
        "{'request':'heartbeat','role':'cook'}"
            + "|malformed request: heartbeat: role: found \"cook\", expected one of server, worker, evaluator",
        "{'request':'heartbeat','role':'worker','rank':-1}"
            + "|malformed request: heartbeat: rank: found -1, expected a whole number from 0 to 2147483647",
        "{'request':'heartbeat','role':'worker','rank':0,'incarnation':1.5}"
            + "|malformed request: heartbeat: incarnation: found 1.5, expected a whole number",
        "{'request':'leave','role':'worker','rank':0,'incarnation':0,'reason':7}"
            + "|malformed request: leave: reason: found 7, expected a text",
        "{'request':'leave','role':'worker','rank':0,'incarnation':0,'reason':'x',"
            + "'status':{'step':'three'}}"
            + "|malformed request: leave: status: step: found \"three\", expected a whole number",
        "{'request':'leave','role':'worker','rank':0,'incarnation':0,'reason':'x',"
            + "'status':{'version':1,'waiting':{'partition':1}}}"
            + "|malformed request: leave: status: waiting: found {\"partition\":1}, expected the ranks that a partition waits for",
        "{'request':'join','terms':{},'role':'worker','token':'t','node':'n','layout':[['W']]}"
            + "|malformed request: join: layout: found [[\"W\"]], expected a list of [name, [dimension, ...], kind]",
        "{'request':'dance'}"
            + "|expected request to be one of join, heartbeat, leave, candidates, division, read, drain, state,"
            + " checkpoint,"
            + " pause, resume, stop"
      },
      quoteCharacter = '`')
  void shouldReportThePlaceOfAnInvalidRequest(String request, String complaint) {
    JsonObject json = new JsonObject(request.replace('\'', '"'));

    String why =
        assertThrows(IllegalArgumentException.class, () -> ControlCodec.request(json)).getMessage();

    assertEquals(complaint, why);
  }

  /** Encodes and decodes the JSON, as if another process had sent it. */
  private static JsonObject overTheWire(JsonObject json) {
    return new JsonObject(json.encode());
  }
}
