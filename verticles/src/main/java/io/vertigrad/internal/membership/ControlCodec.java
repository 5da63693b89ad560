package io.vertigrad.internal.membership;

import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.compute.data.DataFingerprint;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.RecordJson;
import io.vertigrad.internal.RecordJson.Form;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Chosen;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Divided;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Refused;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Released;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Standby;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Unknown;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.DrainRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JobCommand;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReadParameters;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.ReportCandidates;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Command;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Propose;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.ControlMessage.Published.DrainPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.Published.StopPublished;
import io.vertigrad.internal.membership.ProposalAnswer.Start;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StragglerReport;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;

/**
 * Converts control messages to JSON and back, as {@code docs/reference/control-protocol.md}
 * describes them. Their records name the keys; this class knows the rest.
 *
 * <p>Every method that reads throws {@link IllegalArgumentException}. The message names the control
 * message and the key, what was found and what was expected.
 */
public final class ControlCodec {

  /** The form of a membership, also in messages between a member and its strategy verticle. */
  public static final Form<Membership, JsonObject> MEMBERSHIP =
      new Form<>(
          Membership.class,
          JsonObject.class,
          "a membership",
          Membership::toJson,
          Membership::fromJson);

  private static final RecordJson JSON =
      RecordJson.strict(
          ControlCodec::omits,
          Form.choice(Role.class, "one of server, worker, evaluator"),
          Form.choice(JobPhase.class, "the state of a job"),
          Form.choice(VersionChoice.Rule.class, "one of common_state, any_memory"),
          Form.choice(
              Command.class, "one of status, save, checkpoint, ledger, hand_over, adopt, evaluate"),
          new Form<>(
              LeaveReason.class,
              String.class,
              "a reason",
              LeaveReason::toString,
              LeaveReason::read),
          new Form<>(Path.class, String.class, "a path", Path::toString, Path::of),
          new Form<>(
              JobTerms.class,
              JsonObject.class,
              "an object",
              ControlCodec::written,
              ControlCodec::terms),
          MEMBERSHIP,
          new Form<>(
              StragglerReport.class,
              JsonObject.class,
              "the ranks that a partition waits for",
              StragglerReport::toJson,
              StragglerReport::fromJson),
          new Form<>(
              ServerProgress.class,
              JsonObject.class,
              "a serverProgress event",
              ServerProgress::toJson,
              json -> (ServerProgress) TrainingEvent.fromJson(json)),
          new Form<>(
              ParameterLayout.class,
              JsonArray.class,
              "a list of [name, [dimension, ...], kind]",
              ControlCodec::written,
              ControlCodec::layout),
          new Form<>(
              Start.class,
              JsonArray.class,
              "[rank, round, step]",
              start -> JsonArray.of(start.rank(), start.round(), start.step()),
              json -> new Start(json.getInteger(0), json.getLong(1), json.getLong(2))),
          new Form<>(
              RankUpdates.class,
              JsonArray.class,
              "[rank, applied, late, tooStale, refused, skipped, unexplained,"
                  + " [[steps, partitions], ...]]",
              ControlCodec::written,
              ControlCodec::rankUpdates),
          new Form<>(Long.class, Number.class, "versions", version -> version, Number::longValue));

  private static final Map<String, Class<? extends ControlRequest>> REQUESTS =
      Map.of(
          "join", JoinRequest.class,
          "heartbeat", Heartbeat.class,
          "leave", Leave.class,
          "candidates", ReportCandidates.class,
          "division", AskDivision.class,
          "read", ReadParameters.class,
          "drain", DrainRequest.class);

  /** Keys that have no value if it is the empty string or the empty list. */
  private static final Set<String> NOT_EMPTY = Set.of("metric", "silent", "starts");

  /** Keys of a member's status that have no value if it is 0. */
  private static final Set<String> COUNTED_FROM_ZERO = Set.of("tested", "saveMillis");

  private static final String FINGERPRINTS = "fingerprints";

  private record CommandName(Command command) {}

  private record SavedFile(Optional<Path> file) {}

  private record Ledger(List<RankUpdates> updates) {}

  private ControlCodec() {}

  // Requests to the coordinator.

  static JsonObject write(ControlRequest request) {
    if (request instanceof JobCommand command) {
      return new JsonObject().put("request", command.lower());
    }
    String name =
        REQUESTS.entrySet().stream()
            .filter(type -> type.getValue() == request.getClass())
            .findFirst()
            .orElseThrow()
            .getKey();
    return new JsonObject().put("request", name).mergeIn(JSON.write((Record) request));
  }

  static ControlRequest request(JsonObject json) {
    String name = String.valueOf(json.getValue("request"));
    if (REQUESTS.containsKey(name)) {
      return JSON.read(REQUESTS.get(name), json, "malformed request: " + name);
    }
    return Arrays.stream(JobCommand.values())
        .filter(command -> command.lower().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "expected request to be one of join, heartbeat, leave, candidates,"
                        + " division, read, drain, state, checkpoint, pause, resume, stop"));
  }

  // Answers of the coordinator.

  static JsonObject write(ControlAnswer answer) {
    return JSON.write((Record) answer);
  }

  static ControlAnswer answer(JsonObject json) {
    Class<? extends ControlAnswer> type = Granted.class;
    if (has(json, "refused")) {
      type = Refused.class;
    } else if (has(json, "standby")) {
      type = Standby.class;
    } else if (has(json, "admitted")) {
      type = Admitted.class;
    } else if (has(json, "chosen")) {
      type = Chosen.class;
    } else if (has(json, "divided")) {
      type = Divided.class;
    } else if (has(json, "unknown")) {
      type = Unknown.class;
    } else if (has(json, "stop")) {
      type = Released.class;
    }
    return JSON.read(type, json, "answer of the coordinator");
  }

  // Messages that the coordinator publishes.

  static JsonObject write(Published message, JobPhase state) {
    return JSON.write((Record) message).put("state", state.lower());
  }

  static Published message(JsonObject json) {
    Class<? extends Published> type;
    if (has(json, "stop")) {
      type = StopPublished.class;
    } else if (has(json, "membership")) {
      type = MembershipPublished.class;
    } else if (has(json, "pause")) {
      type = PausePublished.class;
    } else if (has(json, "drain")) {
      type = DrainPublished.class;
    } else {
      throw new IllegalArgumentException(
          "control message: found keys %s, expected one of membership, pause, drain, stop"
              .formatted(json.fieldNames()));
    }
    return JSON.read(type, json, "control message");
  }

  // Requests to a member, and its answers.

  static JsonObject write(MemberRequest request) {
    if (request instanceof Command command) {
      return JSON.write(new CommandName(command));
    }
    JsonObject json = JSON.write((Record) request);
    return request instanceof Evaluate ? json.put("command", "evaluate") : json;
  }

  static MemberRequest memberRequest(JsonObject json) {
    String message = "request to a member";
    if (has(json, "propose")) {
      return JSON.read(Propose.class, json, message);
    }
    return "evaluate".equals(json.getValue("command"))
        ? JSON.read(Evaluate.class, json, message)
        : JSON.read(CommandName.class, json, message).command();
  }

  static ProposalAnswer proposalAnswer(JsonObject json) {
    return JSON.read(ProposalAnswer.class, json, "answer to a proposal");
  }

  /** Writes a member's answer to {@code save}: empty if it had nothing to save. */
  static JsonObject writeFile(Optional<Path> file) {
    return JSON.write(new SavedFile(file));
  }

  static Optional<Path> file(JsonObject json) {
    return JSON.read(SavedFile.class, json, "answer to save").file();
  }

  /** Writes a server's answer to {@code ledger}. */
  static JsonObject writeUpdates(List<RankUpdates> ranks) {
    return JSON.write(new Ledger(ranks));
  }

  static List<RankUpdates> updates(JsonObject json) {
    return JSON.read(Ledger.class, json, "answer to ledger").updates();
  }

  static StepState stepState(JsonObject json) {
    return JSON.read(StepState.class, json, "status of a worker");
  }

  static EvaluationResult evaluation(JsonObject json) {
    return JSON.read(EvaluationResult.class, json, "answer to evaluate");
  }

  // Parts of messages, other answers, and how a job ended.

  /** Writes any record of which messages consist, a {@link JobOutcome} or an outcome of a stop. */
  public static JsonObject write(Record part) {
    return JSON.write(part);
  }

  static JsonObject writeStatus(MemberStatus status) {
    return JSON.write((Record) status);
  }

  static MemberStatus status(JsonObject json) {
    return JSON.read(MemberStatus.class, json, "status");
  }

  static Pause pause(JsonObject json) {
    return JSON.read(Pause.class, json, "pause");
  }

  /** Leaves out what a reader assumes anyway, except where the protocol has always sent it. */
  private static boolean omits(Record part, String key, Object value) {
    if (part instanceof MemberStatus) {
      return value.equals(false) || value.equals(0L) && COUNTED_FROM_ZERO.contains(key);
    }
    if (part instanceof Refused refused) {
      return !key.equals("refused") && !refused.retry() && !refused.late();
    }
    if (part instanceof Pause pause) {
      return key.equals("saveAt") && pause.saveAt().isEmpty()
          || key.startsWith("test") && pause.testAt() == EvaluationPlan.NONE;
    }
    return NOT_EMPTY.contains(key) && (value.equals("") || value.equals(List.of()));
  }

  private static boolean has(JsonObject json, String key) {
    return json.getValue(key) != null;
  }

  // Types that are not written component by component.

  private static JsonObject written(JobTerms terms) {
    JsonObject json = new JsonObject();
    terms.values().forEach(json::put);
    if (!terms.fingerprints().isEmpty()) {
      json.put(FINGERPRINTS, DataFingerprint.json(terms.fingerprints()));
    }
    return json;
  }

  private static JobTerms terms(JsonObject json) {
    Map<String, String> terms = new TreeMap<>();
    json.forEach(term -> terms.put(term.getKey(), Objects.toString(term.getValue(), "nothing")));
    terms.remove(FINGERPRINTS);
    return new JobTerms(
        terms, DataFingerprint.all(json.getJsonObject(FINGERPRINTS, new JsonObject())));
  }

  private static JsonArray written(ParameterLayout layout) {
    JsonArray json = new JsonArray();
    for (Block block : layout.blocks()) {
      json.add(
          new JsonArray()
              .add(block.name())
              .add(new JsonArray(block.shape()))
              .add(block.kind().name().toLowerCase(Locale.ROOT)));
    }
    return json;
  }

  private static ParameterLayout layout(JsonArray json) {
    return new ParameterLayout(
        json.stream().map(JsonArray.class::cast).map(ControlCodec::block).toList());
  }

  private static Block block(JsonArray json) {
    List<Integer> shape =
        json.getJsonArray(1).stream().map(dimension -> ((Number) dimension).intValue()).toList();
    Block.Kind kind = Block.Kind.valueOf(json.getString(2).toUpperCase(Locale.ROOT));
    return new Block(json.getString(0), shape, kind);
  }

  private static JsonArray written(RankUpdates of) {
    JsonArray open = new JsonArray();
    new TreeMap<>(of.openPartitions())
        .forEach((steps, parts) -> open.add(JsonArray.of(steps, parts)));
    return JsonArray.of(
        of.rank(),
        of.counts().applied(),
        of.counts().late(),
        of.counts().tooStale(),
        of.counts().refused(),
        of.counts().skipped(),
        of.unexplained(),
        open);
  }

  private static RankUpdates rankUpdates(JsonArray json) {
    Map<Long, Integer> open = new TreeMap<>();
    json.getJsonArray(7).stream()
        .map(JsonArray.class::cast)
        .forEach(part -> open.put(part.getLong(0), part.getInteger(1)));
    return new RankUpdates(
        json.getInteger(0),
        new UpdateCounts(
            json.getLong(1), json.getLong(2), json.getLong(3), json.getLong(4), json.getLong(5)),
        json.getLong(6),
        open);
  }
}
