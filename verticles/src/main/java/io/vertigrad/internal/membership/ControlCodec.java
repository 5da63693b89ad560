package io.vertigrad.internal.membership;

import io.vertigrad.codecs.UpdateCounts;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.internal.membership.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlAnswer.Refused;
import io.vertigrad.internal.membership.ControlAnswer.Released;
import io.vertigrad.internal.membership.ControlAnswer.Unknown;
import io.vertigrad.internal.membership.ControlMessage.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.StopPublished;
import io.vertigrad.internal.membership.ControlRequest.DropBackup;
import io.vertigrad.internal.membership.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlRequest.JobCommand;
import io.vertigrad.internal.membership.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.MemberRequest.Command;
import io.vertigrad.internal.membership.MemberRequest.Evaluate;
import io.vertigrad.internal.membership.MemberRequest.Promote;
import io.vertigrad.internal.membership.MemberRequest.Propose;
import io.vertigrad.internal.membership.MemberRequest.Replicate;
import io.vertigrad.internal.membership.ProposalAnswer.Held;
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
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Converts control messages to JSON and back, as {@code docs/reference/control-protocol.md}
 * describes them; the only place that knows their keys.
 *
 * <p>Every method that reads throws {@link IllegalArgumentException}. The message names the control
 * message and the key, what was found and what was expected.
 */
public final class ControlCodec {

  private static final String REQUESTS =
      "join, heartbeat, leave, dropBackup, state, checkpoint, pause, resume, stop";

  private ControlCodec() {}

  // Requests to the coordinator.

  static JsonObject write(ControlRequest request) {
    if (request instanceof JoinRequest join) {
      JsonObject terms = new JsonObject();
      join.terms().values().forEach(terms::put);
      JsonObject json =
          request("join")
              .put("role", join.role().lower())
              .put("token", join.token())
              .put("node", join.node())
              .put("clusterNode", join.clusterNode())
              .put("terms", terms)
              .put("layout", write(join.layout()))
              .put("adopts", join.adopts())
              .put("status", write(join.status()));
      join.before().ifPresent(before -> json.put("before", write(before)));
      join.holds().ifPresent(version -> json.put("holds", version));
      return json;
    }
    if (request instanceof Heartbeat beat) {
      JsonObject json =
          identity(request("heartbeat"), beat.from())
              .put("status", write(beat.status()))
              .put("epoch", beat.epoch());
      beat.vitals().ifPresent(vitals -> json.put("vitals", write(vitals)));
      return json.put(
          "pause",
          new JsonObject().put("number", beat.pause().number()).put("begun", beat.pause().begun()));
    }
    if (request instanceof Leave leave) {
      return identity(request("leave"), leave.from())
          .put("reason", leave.reason().toString())
          .put("status", write(leave.status()));
    }
    if (request instanceof DropBackup drop) {
      return identity(request("dropBackup"), drop.from())
          .put("backup", write(drop.backup()))
          .put("why", drop.why());
    }
    return request(((JobCommand) request).lower());
  }

  static ControlRequest request(JsonObject json) {
    String name = String.valueOf(json.getValue("request"));
    MessageFields fields = new MessageFields("malformed request: " + name, json);
    return switch (name) {
      case "join" -> join(fields);
      case "heartbeat" -> heartbeat(fields);
      case "leave" ->
          new Leave(
              admission(fields), LeaveReason.read(fields.text("reason")), status(fields, "status"));
      case "dropBackup" ->
          new DropBackup(
              admission(fields), admission(fields.section("backup")), fields.text("why"));
      default ->
          choice(JobCommand.values(), JobCommand::lower, name)
              .orElseThrow(
                  () -> new IllegalArgumentException("expected request to be one of " + REQUESTS));
    };
  }

  private static JsonObject request(String name) {
    return new JsonObject().put("request", name);
  }

  private static JoinRequest join(MessageFields fields) {
    Map<String, String> terms = new TreeMap<>();
    fields
        .object("terms")
        .forEach(term -> terms.put(term.getKey(), Objects.toString(term.getValue(), "nothing")));
    return new JoinRequest(
        role(fields),
        fields.text("token"),
        fields.text("node"),
        fields.optionalText("clusterNode").orElse(""),
        new JobTerms(terms),
        layout(fields),
        fields.flag("adopts"),
        fields.has("before") ? Optional.of(admission(fields.section("before"))) : Optional.empty(),
        fields.optionalWhole("holds"),
        status(fields, "status"));
  }

  private static Heartbeat heartbeat(MessageFields fields) {
    return new Heartbeat(
        admission(fields),
        fields.count("epoch"),
        status(fields, "status"),
        fields.has("vitals") ? Optional.of(vitals(fields.section("vitals"))) : Optional.empty(),
        fields.has("pause") ? pauseReply(fields.section("pause")) : PauseReply.NONE);
  }

  private static PauseReply pauseReply(MessageFields fields) {
    return new PauseReply(fields.whole("number", 0), fields.whole("begun", 0));
  }

  // Answers of the coordinator.

  static JsonObject write(ControlAnswer answer) {
    if (answer instanceof Refused refused) {
      JsonObject json = new JsonObject().put("refused", refused.why());
      return refused.retry() || refused.late()
          ? json.put("retry", refused.retry()).put("late", refused.late())
          : json;
    }
    if (answer instanceof Admitted admitted) {
      JsonObject json =
          answer(admitted.state(), admitted.epoch())
              .put("admitted", write(admitted.admission()))
              .put("run", admitted.run())
              .put("keeps", admitted.keeps());
      admitted.from().ifPresent(version -> json.put("from", version));
      return json;
    }
    if (answer instanceof Unknown unknown) {
      return answer(unknown.state(), unknown.epoch()).put("unknown", unknown.why());
    }
    if (answer instanceof Released released) {
      return answer(released.state(), released.epoch()).put("stop", released.why());
    }
    Granted granted = (Granted) answer;
    JsonObject json = answer(granted.state(), granted.epoch());
    granted.membership().ifPresent(newer -> json.put("membership", newer.toJson()));
    granted.pause().ifPresent(newer -> json.put("pause", write(newer)));
    return json;
  }

  static ControlAnswer answer(JsonObject json) {
    MessageFields fields = new MessageFields("answer of the coordinator", json);
    if (fields.has("refused")) {
      return new Refused(fields.text("refused"), fields.flag("retry"), fields.flag("late"));
    }
    JobPhase state =
        choice(JobPhase.values(), JobPhase::lower, fields.text("state"))
            .orElseThrow(() -> fields.complaint("state", "the state of a job"));
    int epoch = fields.count("epoch");
    if (fields.has("admitted")) {
      return new Admitted(
          state,
          epoch,
          admission(fields.section("admitted")),
          fields.text("run"),
          fields.flag("keeps"),
          fields.optionalWhole("from"));
    }
    if (fields.has("unknown")) {
      return new Unknown(state, epoch, fields.text("unknown"));
    }
    if (fields.has("stop")) {
      return new Released(state, epoch, fields.text("stop"));
    }
    return new Granted(
        state,
        epoch,
        fields.has("membership") ? Optional.of(membership(fields, "membership")) : Optional.empty(),
        fields.has("pause") ? Optional.of(pause(fields.section("pause"))) : Optional.empty());
  }

  private static JsonObject answer(JobPhase state, int epoch) {
    return new JsonObject().put("state", state.lower()).put("epoch", epoch);
  }

  // What the coordinator publishes.

  static JsonObject write(ControlMessage message, JobPhase state) {
    JsonObject json = new JsonObject();
    if (message instanceof MembershipPublished published) {
      json.put("membership", published.membership().toJson());
    } else if (message instanceof PausePublished published) {
      json.put("pause", write(published.pause()));
    } else if (message instanceof StopPublished published) {
      json.put("stop", published.why());
    }
    return json.put("state", state.lower());
  }

  static ControlMessage message(JsonObject json) {
    MessageFields fields = new MessageFields("control message", json);
    if (fields.has("stop")) {
      return new StopPublished(fields.text("stop"));
    }
    if (fields.has("membership")) {
      return new MembershipPublished(membership(fields, "membership"));
    }
    if (fields.has("pause")) {
      return new PausePublished(pause(fields.section("pause")));
    }
    throw new IllegalArgumentException(
        "control message: found keys %s, expected one of membership, pause, stop"
            .formatted(json.fieldNames()));
  }

  // Requests to a member, and its answers.

  static JsonObject write(MemberRequest request) {
    if (request instanceof Propose propose) {
      return new JsonObject().put("propose", propose.next().toJson());
    }
    if (request instanceof Evaluate evaluate) {
      return new JsonObject().put("command", "evaluate").put("version", evaluate.version());
    }
    if (request instanceof Replicate replicate) {
      return new JsonObject().put("replicate", write(replicate.backup()));
    }
    if (request instanceof Promote promote) {
      return new JsonObject().put("promote", write(promote.as()));
    }
    return new JsonObject().put("command", ((Command) request).lower());
  }

  static MemberRequest memberRequest(JsonObject json) {
    MessageFields fields = new MessageFields("request to a member", json);
    if (fields.has("propose")) {
      return new Propose(membership(fields, "propose"));
    }
    if (fields.has("replicate")) {
      return new Replicate(admission(fields.section("replicate")));
    }
    if (fields.has("promote")) {
      return new Promote(admission(fields.section("promote")));
    }
    String name = fields.text("command");
    return name.equals("evaluate")
        ? new Evaluate(fields.whole("version", 0))
        : choice(Command.values(), Command::lower, name)
            .orElseThrow(
                () ->
                    fields.complaint(
                        "command", "one of status, save, checkpoint, ledger, adopt, evaluate"));
  }

  static JsonObject write(ProposalAnswer answer) {
    JsonObject json = new JsonObject();
    answer.reached().ifPresent(version -> json.put("version", version));
    JsonArray starts = new JsonArray();
    answer
        .starts()
        .forEach(start -> starts.add(JsonArray.of(start.rank(), start.round(), start.step())));
    answer
        .held()
        .ifPresent(
            held ->
                json.put("low", held.low())
                    .put("high", held.high())
                    .put("kept", new JsonArray(held.kept())));
    return starts.isEmpty() ? json : json.put("starts", starts);
  }

  static ProposalAnswer proposalAnswer(JsonObject json) {
    MessageFields fields = new MessageFields("answer to a proposal", json);
    OptionalLong reached = fields.optionalWhole("version");
    Optional<Held> held = fields.has("low") ? Optional.of(held(fields)) : Optional.empty();
    if (!fields.has("starts")) {
      return new ProposalAnswer(reached, List.of(), held);
    }
    try {
      return new ProposalAnswer(
          reached,
          fields.array("starts").stream()
              .map(JsonArray.class::cast)
              .map(s -> new Start(s.getInteger(0), s.getLong(1), s.getLong(2)))
              .toList(),
          held);
    } catch (ClassCastException | IndexOutOfBoundsException | NullPointerException malformed) {
      throw fields.complaint("starts", "a list of [rank, round, step]");
    }
  }

  private static Held held(MessageFields fields) {
    try {
      return new Held(
          fields.whole("low"),
          fields.whole("high"),
          fields.array("kept").stream().map(v -> ((Number) v).longValue()).toList());
    } catch (ClassCastException | NullPointerException malformed) {
      throw fields.complaint("kept", "a list of versions");
    }
  }

  /** Writes a member's answer to {@code save}; empty when it had nothing to save. */
  static JsonObject writeFile(Optional<Path> file) {
    JsonObject json = new JsonObject();
    file.ifPresent(written -> json.put("file", written.toString()));
    return json;
  }

  static Optional<Path> file(JsonObject json) {
    return new MessageFields("answer to save", json).optionalText("file").map(Path::of);
  }

  /** Writes a server's answer to {@code ledger}. */
  static JsonObject writeUpdates(List<RankUpdates> ranks) {
    JsonArray json = new JsonArray();
    for (RankUpdates of : ranks) {
      JsonArray open = new JsonArray();
      new TreeMap<>(of.openPartitions())
          .forEach((steps, parts) -> open.add(JsonArray.of(steps, parts)));
      json.add(
          JsonArray.of(
              of.rank(),
              of.counts().applied(),
              of.counts().late(),
              of.counts().tooStale(),
              of.counts().refused(),
              of.counts().skipped(),
              of.unexplained(),
              open));
    }
    return new JsonObject().put("updates", json);
  }

  static List<RankUpdates> updates(JsonObject json) {
    MessageFields fields = new MessageFields("answer to ledger", json);
    try {
      return fields.array("updates").stream()
          .map(JsonArray.class::cast)
          .map(ControlCodec::rankUpdates)
          .toList();
    } catch (ClassCastException | IndexOutOfBoundsException | NullPointerException malformed) {
      throw fields.complaint(
          "updates",
          "a list of [rank, applied, late, tooStale, refused, skipped, unexplained,"
              + " [[steps, partitions], ...]]");
    }
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

  static JsonObject write(StepState state) {
    return new JsonObject()
        .put("pause", state.pause())
        .put("idle", state.idle())
        .put("version", state.version());
  }

  static StepState stepState(JsonObject json) {
    MessageFields fields = new MessageFields("status of a worker", json);
    return new StepState(fields.whole("version", 0), fields.whole("pause", 0), fields.flag("idle"));
  }

  static JsonObject write(EvaluationResult result) {
    JsonObject json = new JsonObject();
    if (!result.metric().isEmpty()) {
      json.put("metric", result.metric());
    }
    return json.put("version", result.version())
        .put("highestVersion", result.highestVersion())
        .put("samples", result.samples())
        .put("loss", result.loss())
        .put("accuracy", result.accuracy())
        .put("topK", result.topK())
        .put("topAccuracy", result.topAccuracy())
        .put("parametersHash", result.parametersHash());
  }

  static EvaluationResult evaluation(JsonObject json) {
    MessageFields fields = new MessageFields("answer to evaluate", json);
    return new EvaluationResult(
        fields.whole("version"),
        fields.whole("highestVersion"),
        fields.count("samples"),
        fields.number("loss", 0),
        fields.number("accuracy", 0),
        fields.count("topK", 0),
        fields.number("topAccuracy", 0),
        fields.text("parametersHash"),
        fields.optionalText("metric").orElse(""));
  }

  // Parts of several messages.

  /** Writes {@code {"role", "rank", "incarnation"}}. */
  public static JsonObject write(Admission admission) {
    return identity(new JsonObject(), admission);
  }

  private static JsonObject identity(JsonObject into, Admission admission) {
    return into.put("role", admission.role().lower())
        .put("rank", admission.rank())
        .put("incarnation", admission.incarnation());
  }

  private static Admission admission(MessageFields fields) {
    return new Admission(role(fields), fields.count("rank"), fields.count("incarnation"));
  }

  private static Role role(MessageFields fields) {
    return choice(Role.values(), Role::lower, fields.text("role"))
        .orElseThrow(() -> fields.complaint("role", "one of server, worker, evaluator"));
  }

  static JsonObject write(MemberStatus status) {
    JsonObject json = new JsonObject();
    if (status.starting()) {
      json.put("starting", true);
    }
    status.step().ifPresent(step -> json.put("step", step));
    status.version().ifPresent(version -> json.put("version", version));
    status.samples().ifPresent(samples -> json.put("samples", samples));
    status.event().ifPresent(event -> json.put("event", event));
    status.testing().ifPresent(version -> json.put("testing", version));
    status.evaluated().ifPresent(version -> json.put("evaluated", version));
    if (status.tested() > 0) {
      json.put("tested", status.tested());
    }
    if (status.ended()) {
      json.put("ended", true);
    }
    if (status.restored()) {
      json.put("restored", true);
    }
    if (status.saveMillis() > 0) {
      json.put("saveMillis", status.saveMillis());
    }
    status.waiting().ifPresent(waiting -> json.put("waiting", waiting.toJson()));
    status.counters().ifPresent(counters -> json.put("counters", counters.toJson()));
    return json;
  }

  static MemberStatus status(JsonObject json) {
    return status(new MessageFields("status", json));
  }

  private static MemberStatus status(MessageFields fields, String key) {
    return fields.has(key) ? status(fields.section(key)) : MemberStatus.NONE;
  }

  private static MemberStatus status(MessageFields fields) {
    return new MemberStatus(
        fields.flag("starting"),
        fields.optionalWhole("version"),
        fields.optionalWhole("samples"),
        fields.optionalWhole("step"),
        fields.optionalText("event"),
        fields.whole("tested", 0),
        fields.flag("ended"),
        fields.flag("restored"),
        fields.has("waiting")
            ? Optional.of(
                read(fields, "waiting", "whom a partition waits for", StragglerReport::fromJson))
            : Optional.empty(),
        fields.optionalWhole("testing"),
        fields.optionalWhole("evaluated"),
        fields.has("counters") ? Optional.of(counters(fields)) : Optional.empty(),
        fields.whole("saveMillis", 0));
  }

  private static ServerProgress counters(MessageFields fields) {
    String expected = "a serverProgress event";
    if (read(fields, "counters", expected, TrainingEvent::fromJson)
        instanceof ServerProgress counters) {
      return counters;
    }
    throw fields.complaint("counters", expected);
  }

  static JsonObject write(Pause pause) {
    JsonObject json =
        new JsonObject()
            .put("number", pause.number())
            .put("holdFrom", pause.holdFrom())
            .put("ends", pause.ends());
    if (pause.saveAt() > 0) {
      json.put("saveAt", pause.saveAt());
    }
    return pause.testAt() == EvaluationPlan.NONE
        ? json
        : json.put("testAt", pause.testAt()).put("testing", pause.testing());
  }

  static Pause pause(JsonObject json) {
    return pause(new MessageFields("pause", json));
  }

  private static Pause pause(MessageFields fields) {
    return new Pause(
        fields.whole("number"),
        fields.whole("holdFrom"),
        fields.whole("testAt", EvaluationPlan.NONE),
        fields.flag("testing"),
        fields.flag("ends"),
        fields.whole("saveAt", 0));
  }

  private static JsonObject write(ProcessVitals vitals) {
    return new JsonObject()
        .put("cores", vitals.cores())
        .put("processors", vitals.processors())
        .put("heapBytes", vitals.heapBytes())
        .put("heapLimitBytes", vitals.heapLimitBytes())
        .put("offHeapBytes", vitals.offHeapBytes())
        .put("residentBytes", vitals.residentBytes())
        .put("roundTripMillis50", vitals.roundTripMillis50())
        .put("roundTripMillis99", vitals.roundTripMillis99());
  }

  private static ProcessVitals vitals(MessageFields fields) {
    return new ProcessVitals(
        fields.number("cores", 0),
        fields.count("processors", 0),
        fields.whole("heapBytes", 0),
        fields.whole("heapLimitBytes", 0),
        fields.whole("offHeapBytes", 0),
        fields.whole("residentBytes", 0),
        fields.number("roundTripMillis50", 0),
        fields.number("roundTripMillis99", 0));
  }

  private static JsonArray write(ParameterLayout layout) {
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

  private static ParameterLayout layout(MessageFields fields) {
    JsonArray json = fields.array("layout");
    try {
      return new ParameterLayout(
          json.stream().map(JsonArray.class::cast).map(ControlCodec::block).toList());
    } catch (IllegalArgumentException
        | ClassCastException
        | IndexOutOfBoundsException
        | NullPointerException malformed) {
      throw fields.complaint("layout", "a list of [name, [dimension, ...], kind]");
    }
  }

  private static Block block(JsonArray json) {
    List<Integer> shape =
        json.getJsonArray(1).stream().map(dimension -> ((Number) dimension).intValue()).toList();
    Block.Kind kind = Block.Kind.valueOf(json.getString(2).toUpperCase(Locale.ROOT));
    return new Block(json.getString(0), shape, kind);
  }

  private static Membership membership(MessageFields fields, String key) {
    return read(fields, key, "a membership", Membership::fromJson);
  }

  /** Reads a part that has its own JSON reader; a failure names the key. */
  private static <T> T read(
      MessageFields fields, String key, String expected, Function<JsonObject, T> reader) {
    try {
      return reader.apply(fields.object(key));
    } catch (IllegalArgumentException
        | ClassCastException
        | IndexOutOfBoundsException
        | NullPointerException malformed) {
      throw fields.complaint(key, expected);
    }
  }

  private static <E> Optional<E> choice(E[] values, Function<E, String> name, String found) {
    return Arrays.stream(values).filter(value -> name.apply(value).equals(found)).findFirst();
  }

  // How a job ended, for code that embeds a coordinator.

  /** Writes how a job ended, as {@code CoordinatorVerticle.result()} returns it. */
  public static JsonObject write(JobOutcome outcome) {
    JsonObject json =
        new JsonObject()
            .put("state", outcome.state().lower())
            .put("version", outcome.version())
            .put("samples", outcome.samples());
    outcome.evaluation().ifPresent(found -> json.put("evaluation", write(found)));
    if (!outcome.silent().isEmpty()) {
      json.put("silent", new JsonArray(outcome.silent()));
    }
    outcome.stopped().ifPresent(why -> json.put("stopped", write(why)));
    outcome.failure().ifPresent(why -> json.put("failure", why));
    return json;
  }

  private static JsonObject write(EarlyEnd end) {
    return new JsonObject()
        .put("reason", end.reason())
        .put("threshold", end.threshold())
        .put("value", end.value())
        .put("version", end.version());
  }

  /**
   * Writes the outcome of an orderly stop, as {@code CoordinatorVerticle.interrupt()} returns it.
   */
  public static JsonObject write(OrderlyStop.Outcome outcome) {
    return new JsonObject()
        .put(
            "checkpoints",
            new JsonArray(outcome.checkpoints().stream().map(Path::toString).toList()))
        .put("unsaved", new JsonArray(outcome.unsaved()))
        .put("busy", new JsonArray(outcome.busy()));
  }
}
