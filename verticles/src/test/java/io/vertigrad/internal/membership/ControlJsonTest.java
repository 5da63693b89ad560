package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.DecisionExecutor.OrderlyStop;
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
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Holds the JSON of control messages, which members of other versions read and write. */
final class ControlJsonTest {

  private static final Admission WORKER = new Admission(Role.WORKER, 3, 2);
  private static final Admission SERVER = new Admission(Role.SERVER, 1, 0);
  private static final String MEMBER = "'role':'worker','rank':3,'incarnation':2";
  private static final Membership MEMBERSHIP =
      new Membership(7, List.of(new Member(0, 1, 12)), List.of(new Member(0, 0, 0)));
  private static final String MEMBERSHIP_JSON =
      "{'epoch':7,'workers':[[0,1,12,12]],'servers':[[0,0,0,0]]}";

  static Stream<Arguments> messages() {
    return Stream.of(
        arguments(
            request(
                new Heartbeat(
                    WORKER,
                    7,
                    new WorkerStatus(10, 9, 0, "computing", 5, true, 8, false),
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
                    new PauseReply(4, 11))),
            "{'request':'heartbeat',"
                + MEMBER
                + ",'epoch':7,'status':{'step':10,'version':9,'samples':0,'event':'computing',"
                + "'tested':5,'ended':true,'saveMillis':8},'vitals':{'cores':1.5,'processors':2,"
                + "'heapBytes':3,'heapLimitBytes':4,'offHeapBytes':5,'residentBytes':6,"
                + "'busyGpus':0.5,'gpuBytes':7,'roundTripMillis50':0.25,'roundTripMillis99':7.5,'roundTripMicrosSum':9,"
                + "'roundTrips':{'500':8}},"
                + "'pause':{'number':4,'begun':11}}"),
        arguments(
            request(new Heartbeat(WORKER, 0, MemberStatus.NONE, Optional.empty(), PauseReply.NONE)),
            "{'request':'heartbeat',"
                + MEMBER
                + ",'epoch':0,'status':{},'pause':{'number':0,'begun':0}}"),
        arguments(
            request(
                new Leave(
                    WORKER,
                    LeaveReason.failed("NaN"),
                    new ServerStatus(
                        17,
                        4,
                        true,
                        0,
                        Optional.of(new StragglerReport(2, 18, List.of(1, 3))),
                        Optional.of(new ServerProgress(5, 0, 0, 17, 4, 17, 1, 2, 3, 4))))),
            "{'request':'leave',"
                + MEMBER
                + ",'reason':'failed: NaN','status':{'version':17,'samples':4,'restored':true,"
                + "'waiting':{'partition':2,'step':18,'workers':[1,3]},'counters':"
                + new ServerProgress(5, 0, 0, 17, 4, 17, 1, 2, 3, 4).toJson().encode()
                + "}}"),
        arguments(
            request(
                new JoinRequest(
                    Role.SERVER,
                    "token",
                    "here pid 1",
                    "",
                    new JobTerms(Map.of("seed", "7"), Map.of()),
                    FakeMember.LAYOUT,
                    false,
                    Optional.of(SERVER),
                    OptionalLong.of(1_842),
                    MemberStatus.STARTING)),
            "{'request':'join','role':'server','token':'token','node':'here pid 1',"
                + "'clusterNode':'','terms':{'seed':'7'},'layout':"
                + layout()
                + ",'adopts':false,'status':{'starting':true},"
                + "'before':{'role':'server','rank':1,'incarnation':0},'holds':1842}"),
        arguments(
            request(
                new ControlRequest.ReportCandidates(
                    new Candidates(
                        WORKER,
                        7,
                        Rule.COMMON_STATE,
                        Optional.of(new RunVersion(57, 3)),
                        List.of(RunVersion.BEGINNING, new RunVersion(50, 3)),
                        List.of(new RunVersion(40, 3)),
                        false,
                        true))),
            "{'request':'candidates',"
                + MEMBER
                + ",'epoch':7,'rule':'common_state','beyondRanks':false,"
                + "'repeatable':true,'inMemory':{'version':57,'run':3},"
                + "'restorable':[{'version':0,'run':0},{'version':50,'run':3}],"
                + "'copies':[{'version':40,'run':3}]}"),
        arguments(
            answer(
                new ControlAnswer.Chosen(
                    JobPhase.RUNNING,
                    7,
                    new Choice(Optional.of(new RunVersion(50, 3)), OptionalLong.of(3)))),
            "{'state':'running','epoch':7,'chosen':{'from':{'version':50,'run':3},'run':3}}"),
        arguments(
            request(
                new ControlRequest.AskDivision(
                    WORKER, 40, 1_500, Optional.of(new BatchDivision(20, 40, List.of(3, 1))))),
            "{'request':'division',"
                + MEMBER
                + ",'round':40,'nanosPerSample':1500,"
                + "'known':{'from':20,'until':40,'shares':[3,1]}}"),
        arguments(
            answer(
                new ControlAnswer.Divided(
                    JobPhase.RUNNING, 7, new BatchDivision(40, 80, List.of(2, 2)))),
            "{'state':'running','epoch':7,'divided':{'from':40,'until':80,'shares':[2,2]}}"),
        arguments(ControlCodec.write(ControlRequest.JobCommand.STATE), "{'request':'state'}"),
        arguments(
            request(new ControlRequest.DrainRequest(Optional.of("worker 1"), Optional.empty())),
            "{'request':'drain','member':'worker 1'}"),
        arguments(
            answer(new ControlAnswer.Standby(JobPhase.RUNNING, 7, "soon")),
            "{'state':'running','epoch':7,'standby':'soon'}"),
        arguments(answer(new ControlAnswer.Refused("never", false, false)), "{'refused':'never'}"),
        arguments(
            answer(new ControlAnswer.Refused("full", true, false)),
            "{'refused':'full','retry':true,'late':false}"),
        arguments(
            answer(
                new ControlAnswer.Admitted(
                    JobPhase.WAITING, 0, WORKER, "run 1", false, OptionalLong.empty())),
            "{'state':'waiting','epoch':0,'admitted':{"
                + MEMBER
                + "},'run':'run 1','keeps':false}"),
        arguments(
            answer(
                new ControlAnswer.Admitted(
                    JobPhase.WAITING, 0, WORKER, "run 1", true, OptionalLong.of(0))),
            "{'state':'waiting','epoch':0,'admitted':{"
                + MEMBER
                + "},'run':'run 1','keeps':true,'from':0}"),
        arguments(
            answer(new ControlAnswer.Unknown(JobPhase.ENDING, 8, "silent")),
            "{'state':'ending','epoch':8,'unknown':'silent'}"),
        arguments(
            answer(new ControlAnswer.Released(JobPhase.FAILED, 8, "over")),
            "{'state':'failed','epoch':8,'stop':'over'}"),
        arguments(
            answer(
                new ControlAnswer.Granted(
                    JobPhase.PAUSED,
                    7,
                    Optional.of(MEMBERSHIP),
                    Optional.of(new Pause(3, 40, 20, false, true, List.of(30L))))),
            "{'state':'paused','epoch':7,'membership':"
                + MEMBERSHIP_JSON
                + ",'pause':{'number':3,'holdFrom':40,'testAt':20,'testing':false,'ends':true,"
                + "'saveAt':[30]}}"),
        arguments(
            ControlCodec.write(new Published.PausePublished(new Pause(1, 0)), JobPhase.RUNNING),
            "{'pause':{'number':1,'holdFrom':0,'ends':false},'state':'running'}"),
        arguments(
            ControlCodec.write(new Published.MembershipPublished(MEMBERSHIP), JobPhase.RUNNING),
            "{'membership':" + MEMBERSHIP_JSON + ",'state':'running'}"),
        arguments(
            ControlCodec.write(new Published.StopPublished("done"), JobPhase.STOPPED),
            "{'stop':'done','state':'stopped'}"),
        arguments(
            toMember(new MemberRequest.Propose(MEMBERSHIP)), "{'propose':" + MEMBERSHIP_JSON + "}"),
        arguments(toMember(new MemberRequest.Evaluate(0)), "{'command':'evaluate','version':0}"),
        arguments(
            ControlCodec.write(new Published.DrainPublished("here pid 1"), JobPhase.RUNNING),
            "{'drain':'here pid 1','state':'running'}"),
        arguments(ControlCodec.write(MemberRequest.Command.HAND_OVER), "{'command':'hand_over'}"),
        arguments(ControlCodec.write(MemberRequest.Command.ADOPT), "{'command':'adopt'}"));
  }

  static Stream<Arguments> answersOfMembers() {
    return Stream.of(
        arguments(ControlCodec.write(ProposalAnswer.ACCEPTED), "{}"),
        arguments(
            ControlCodec.write(
                new ProposalAnswer(OptionalLong.of(12), List.of(new ProposalAnswer.Start(1, 2, 3)))
                    .with(new ProposalAnswer.Held(4, 5, List.of(0L, 4L)))),
            "{'version':12,'starts':[[1,2,3]],'low':4,'high':5,'kept':[0,4]}"),
        arguments(ControlCodec.writeFile(Optional.empty()), "{}"),
        arguments(ControlCodec.writeFile(Optional.of(Path.of("a"))), "{'file':'a'}"),
        arguments(
            ControlCodec.writeUpdates(
                List.of(
                    new RankUpdates(1, new UpdateCounts(2, 3, 4, 5, 6), 7, Map.of(9L, 1, 8L, 2)))),
            "{'updates':[[1,2,3,4,5,6,7,[[8,2],[9,1]]]]}"),
        arguments(
            ControlCodec.write(new StepState(9, 3, false)), "{'version':9,'pause':3,'idle':false}"),
        arguments(
            ControlCodec.write(new EvaluationResult(10, 11, 64, 0.5, 97.5, 0, 0, "ab", "")),
            "{'version':10,'highestVersion':11,'samples':64,'loss':0.5,'accuracy':97.5,'topK':0,"
                + "'topAccuracy':0.0,'parametersHash':'ab'}"),
        arguments(
            ControlCodec.write(
                new EvaluationResult(10, 11, 64, Double.NaN, Double.NaN, 0, 0, "ab", "rmse")),
            "{'version':10,'highestVersion':11,'samples':64,'loss':'NaN','accuracy':'NaN','topK':0,"
                + "'topAccuracy':0.0,'parametersHash':'ab','metric':'rmse'}"),
        arguments(
            ControlCodec.write(
                new JobOutcome(
                    JobPhase.FINISHED,
                    5,
                    6,
                    Optional.empty(),
                    List.of("server 0"),
                    Optional.of(new EarlyEnd("loss", 0.5, 0.25, 4)),
                    Optional.of("why"))),
            "{'state':'finished','version':5,'samples':6,'silent':['server 0'],'stopped':"
                + "{'reason':'loss','threshold':0.5,'value':0.25,'version':4},'failure':'why'}"),
        arguments(
            ControlCodec.write(
                new OrderlyStop.Outcome(List.of("b"), List.of(Path.of("a")), List.of())),
            "{'checkpoints':['a'],'unsaved':[],'busy':['b']}"));
  }

  @ParameterizedTest
  @MethodSource({"messages", "answersOfMembers"})
  void shouldWriteTheKeysOfTheProtocol(JsonObject written, String expected) {
    assertEquals(json(expected), new JsonObject(written.encode()));
  }

  static Stream<Arguments> shortMessages() {
    return Stream.of(
        arguments(
            reading(ControlCodec::request),
            "{'request':'heartbeat'," + MEMBER + ",'epoch':1}",
            new Heartbeat(WORKER, 1, MemberStatus.NONE, Optional.empty(), PauseReply.NONE)),
        arguments(
            reading(ControlCodec::request),
            "{'request':'heartbeat'," + MEMBER + ",'epoch':1,'vitals':{},'pause':{},'status':null}",
            new Heartbeat(
                WORKER,
                1,
                MemberStatus.NONE,
                Optional.of(new Vitals(Map.of(), 0, Map.of())),
                PauseReply.NONE)),
        arguments(
            reading(ControlCodec::pause),
            "{'number':1,'holdFrom':2}",
            new Pause(1, 2, EvaluationPlan.NONE, false, false, List.of())),
        arguments(reading(ControlCodec::stepState), "{}", new StepState(0, 0, false)),
        arguments(
            reading(ControlCodec::evaluation),
            "{'version':1,'highestVersion':2,'samples':3,'loss':'-Infinity','parametersHash':''}",
            new EvaluationResult(1, 2, 3, Double.NEGATIVE_INFINITY, 0, 0, 0, "", "")),
        arguments(
            reading(ControlCodec::memberRequest),
            "{'command':'evaluate'}",
            new MemberRequest.Evaluate(0)),
        arguments(reading(ControlCodec::proposalAnswer), "{}", ProposalAnswer.ACCEPTED),
        arguments(
            reading(ControlCodec::proposalAnswer),
            "{'low':4,'high':5,'kept':[]}",
            ProposalAnswer.ACCEPTED.with(new ProposalAnswer.Held(4, 5, List.of()))),
        arguments(
            reading(ControlCodec::updates),
            "{'updates':[[-1,2,3,4,5,6,7,[[8,2]]]]}",
            List.of(new RankUpdates(-1, new UpdateCounts(2, 3, 4, 5, 6), 7, Map.of(8L, 2)))),
        arguments(
            reading(ControlCodec::answer),
            "{'state':'running','epoch':1,'admitted':{" + MEMBER + "},'run':'r'}",
            new ControlAnswer.Admitted(
                JobPhase.RUNNING, 1, WORKER, "r", false, OptionalLong.empty())),
        arguments(
            reading(ControlCodec::answer),
            "{'refused':'full'}",
            new ControlAnswer.Refused("full", false, false)));
  }

  @ParameterizedTest
  @MethodSource("shortMessages")
  void shouldReadDefaultsWhenKeysAreMissing(
      Function<JsonObject, Object> reader, String message, Object expected) {
    assertEquals(expected, reader.apply(json(message)));
  }

  static Stream<Arguments> malformedMessages() {
    return Stream.of(
        arguments(
            reading(ControlCodec::answer),
            "{'state':'asleep'}",
            "answer of the coordinator: state: found \"asleep\", expected the state of a job"),
        arguments(
            reading(ControlCodec::answer),
            "{'state':'running','epoch':1,'pause':{'number':1}}",
            "answer of the coordinator: pause: holdFrom: found nothing, expected a whole number"),
        arguments(
            reading(ControlCodec::answer),
            "{'state':'running','epoch':1,'membership':7}",
            "answer of the coordinator: membership: found 7, expected a membership"),
        arguments(
            reading(ControlCodec::answer),
            "{'refused':'full','retry':1}",
            "answer of the coordinator: retry: found 1, expected true or false"),
        arguments(
            reading(ControlCodec::message),
            "{'start':'now'}",
            "control message: found keys [start], expected one of membership, pause, drain, stop"),
        arguments(
            reading(ControlCodec::message),
            "{'pause':1}",
            "control message: pause: found 1, expected an object"),
        arguments(
            reading(ControlCodec::memberRequest),
            "{'command':'dance'}",
            "request to a member: command: found \"dance\","
                + " expected one of status, save, checkpoint, ledger, hand_over, adopt, evaluate"),
        arguments(
            reading(ControlCodec::memberRequest),
            "{}",
            "request to a member: command: found nothing, expected a text"),
        arguments(
            reading(ControlCodec::proposalAnswer),
            "{'starts':[[1,2]]}",
            "answer to a proposal: starts: found [[1,2]], expected a list of [rank, round, step]"),
        arguments(
            reading(ControlCodec::proposalAnswer),
            "{'low':1,'high':2}",
            "answer to a proposal: kept: found nothing, expected a list"),
        arguments(
            reading(ControlCodec::proposalAnswer),
            "{'low':1,'high':2,'kept':['x']}",
            "answer to a proposal: kept: found [\"x\"], expected a list of versions"),
        arguments(
            reading(ControlCodec::updates),
            "{'updates':[[1]]}",
            "answer to ledger: updates: found [[1]], expected a list of [rank, applied, late,"
                + " tooStale, refused, skipped, unexplained, [[steps, partitions], ...]]"),
        arguments(
            reading(ControlCodec::updates),
            "{}",
            "answer to ledger: updates: found nothing, expected a list"),
        arguments(
            reading(ControlCodec::file),
            "{'file':7}",
            "answer to save: file: found 7, expected a text"),
        arguments(
            reading(ControlCodec::evaluation),
            "{'version':1,'highestVersion':2,'samples':3,'loss':'much'}",
            "answer to evaluate: loss: found \"much\", expected a number"),
        arguments(
            reading(ControlCodec::status),
            "{'version':1,'counters':{'type':'jobPaused'}}",
            "status: counters: found {\"type\":\"jobPaused\"}, expected a serverProgress event"),
        arguments(
            reading(ControlCodec::request),
            "{'request':'join','role':'worker','token':'t','node':'n','terms':{}}",
            "malformed request: join: layout: found nothing, expected a list"));
  }

  @ParameterizedTest
  @MethodSource("malformedMessages")
  void shouldReportThePlaceOfAnInvalidMessage(
      Function<JsonObject, Object> reader, String message, String complaint) {
    JsonObject json = json(message);

    assertEquals(
        complaint,
        assertThrows(IllegalArgumentException.class, () -> reader.apply(json)).getMessage());
  }

  @Test
  void shouldListAStatusInTheOrderInWhichItIsQuoted() {
    assertEquals(
        "{\"step\":10,\"version\":9,\"samples\":0,\"event\":\"computing\",\"tested\":5,"
            + "\"ended\":true,\"saveMillis\":8}",
        ControlCodec.write(new WorkerStatus(10, 9, 0, "computing", 5, true, 8, false)).encode());
  }

  private static JsonObject request(ControlRequest request) {
    return ControlCodec.write(request);
  }

  private static JsonObject answer(ControlAnswer answer) {
    return ControlCodec.write(answer);
  }

  private static JsonObject toMember(MemberRequest request) {
    return ControlCodec.write(request);
  }

  private static <T> Function<JsonObject, T> reading(Function<JsonObject, T> reader) {
    return reader;
  }

  private static JsonObject json(String text) {
    return new JsonObject(text.replace('\'', '"'));
  }

  private static String layout() {
    return FakeMember.LAYOUT.blocks().stream()
        .map(
            block ->
                "['%s',%s,'%s']"
                    .formatted(
                        block.name(), block.shape(), block.kind().name().toLowerCase(Locale.ROOT)))
        .toList()
        .toString();
  }
}
