package io.vertigrad.dashboard;

import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.Figures;
import io.vertigrad.events.TrainingEvent.JobResumed;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.MemberLeft;
import io.vertigrad.events.TrainingEvent.MemberSuspected;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.SamplesCounted;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.StreamTested;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFold;
import io.vertigrad.observability.UpdateOutliers;
import io.vertigrad.run.RunView;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.run.Throughput.WorkerRate;
import io.vertigrad.run.ThroughputBook;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The messages to a page: snapshots and numbered deltas, as {@code
 * examples/metrics-bridge/README.md} describes them, with a {@link RunState} for the job and {@link
 * MemberMetrics} for each member. Its size has a limit that does not depend on the length of the
 * run; single-threaded.
 */
final class RunMetrics {

  /** Version of the messages; it changes when an older reader would misunderstand them. */
  public static final int SCHEMA = 1;

  private static final int MEMBERS = 1_024;
  private static final List<String> UNSHOWN =
      List.of(
          "type", "role", "shard", "sentTo", "receivedFrom", "roundTrips", "roundTripMicrosSum");

  private final RunDescription run;
  private final RunView view = new RunView();
  private final RunState state = new RunState(view);
  private final Map<String, MemberMetrics> members = new LinkedHashMap<>();
  private final RunAdvice advice;
  private final TestCurve tests = new TestCurve();
  private final NodeCurves nodes = new NodeCurves();
  private final ScalarCurves scalars = new ScalarCurves("samples", "bytes");
  private final UpdateOutliers outliers = new UpdateOutliers();
  private final RecentEvents recent = new RecentEvents();
  private final ThroughputBook book = new ThroughputBook();
  private final EventFold fold =
      new EventFold()
          .on(JobStarted.class, this::started)
          .on(JobResumed.class, this::resumed)
          .on(WorkerProgress.class, this::progressed)
          .on(PeerExchange.class, this::exchanged)
          .on(ServerProgress.class, this::progressed)
          .on(MemberVitals.class, this::measured)
          .on(Evaluated.class, tests::add)
          .on(StreamTested.class, tested -> streamed = true)
          .on(ScalarReported.class, this::reported)
          .on(SamplesCounted.class, own -> member(Role.WORKER, own.rank()).owns(own))
          .on(MemberJoined.class, this::joined)
          .on(MemberSuspected.class, this::suspected)
          .on(MemberLeft.class, this::left);

  /** The reports of workers in the window. */
  private final List<WorkerProgress> progress = new ArrayList<>();

  private boolean streamed;
  private boolean compared;
  private JsonArray classes = new JsonArray();
  private boolean classesTold;
  private long bytes;
  private long number;

  public RunMetrics(RunDescription run) {
    this.run = run;
    advice = new RunAdvice(run.config(), view);
  }

  /** Applies the events of one window, in order, and returns the delta of what they changed. */
  public JsonObject advance(Collection<TrainingEvent> window, long timeMillis) {
    progress.clear();
    streamed = false;
    compared = false;
    window.forEach(this::apply);
    if (compared) {
      compare(outliers.toJson());
    }
    if (streamed) {
      tests.add(timeMillis, view.version(), view.stream().orElseThrow());
    }
    if (!progress.isEmpty()) {
      move(progress);
    }
    if (view.phase() == RunView.Phase.PAUSED) {
      members.values().stream().filter(MemberMetrics::moving).forEach(MemberMetrics::rest);
      state.rest();
    }
    advice.judge(!progress.isEmpty());
    state.advice(advice.toJson());
    number++;
    JsonArray changed = new JsonArray();
    members.values().stream()
        .map(MemberMetrics::takeChanged)
        .filter(Objects::nonNull)
        .forEach(changed::add);
    JsonObject points = new JsonObject();
    members.forEach(
        (name, member) -> {
          JsonObject point = member.takeFreshPoint();
          if (point != null) {
            points.put(name, point);
          }
        });
    JsonObject delta =
        message("delta", timeMillis)
            .put("members", changed)
            .put("history", points)
            .put("nodes", nodes.takeFresh())
            .put("tests", tests.takeFresh())
            .put("events", recent.takeFresh());
    JsonArray reported = scalars.takeFresh();
    if (!reported.isEmpty()) {
      delta.put("scalars", reported);
    }
    if (!classesTold && !classes.isEmpty()) {
      classesTold = true;
      delta.put("classes", classes);
    }
    return delta;
  }

  /** Applies the {@code summary.json} of a run that is over; the next delta contains it. */
  public void summarize(JsonObject summary) {
    state.summarize(summary);
    advice.summarize(summary);
    if (summary.getValue(UpdateOutliers.KEY) instanceof JsonArray updates) {
      compare(updates);
    }
  }

  /** Returns everything up to the last delta. */
  public JsonObject snapshot(long timeMillis) {
    JsonArray all = new JsonArray();
    JsonObject history = new JsonObject();
    members.forEach(
        (name, member) -> {
          all.add(member.toJson());
          if (name.startsWith("worker")) {
            history.put(name, member.history());
          }
        });
    return message("snapshot", timeMillis)
        .put("run", run.toJson())
        .put("classes", classes)
        .put("members", all)
        .put("history", history)
        .put("nodes", nodes.toJson())
        .put("scalars", scalars.toJson())
        .put("tests", tests.toJson())
        .put("events", recent.toJson());
  }

  private JsonObject message(String kind, long timeMillis) {
    return new JsonObject()
        .put("schema", SCHEMA)
        .put("kind", kind)
        .put("job", run.job())
        .put("number", number)
        .put("timeMillis", timeMillis)
        .put("state", stateNow());
  }

  private JsonObject stateNow() {
    JsonObject now = state.toJson();
    return scalars.leftOut() == 0 ? now : now.put("scalarsLeftOut", scalars.leftOut());
  }

  private void apply(TrainingEvent event) {
    view.apply(event);
    state.apply(event);
    advice.apply(event);
    outliers.apply(event);
    fold.apply(event);
    if (!(event instanceof Figures)) {
      recent.add(event);
    }
  }

  private void started(JobStarted started) {
    if (started.toJson().getValue("classes") instanceof JsonArray names) {
      classes = names;
      classesTold = false;
    }
  }

  private void resumed(JobResumed resumed) {
    book.resumed(resumed.timeMillis());
    members.values().forEach(MemberMetrics::interrupt);
    scalars.interrupt();
    tests.interrupt();
  }

  private void progressed(WorkerProgress worker) {
    progress.add(worker);
    onReport(Role.WORKER, worker.rank(), view.worker(worker.rank()).orElseThrow());
    member(Role.WORKER, worker.rank()).reports();
  }

  private void exchanged(PeerExchange peer) {
    JsonObject values = shown(peer);
    // The worker's counter of the same name measures another time.
    values.remove("secondsExchanging");
    onReport(Role.WORKER, peer.rank(), values);
  }

  private void progressed(ServerProgress server) {
    onReport(Role.SERVER, server.shard(), view.server(server.shard()).orElseThrow());
  }

  private void measured(MemberVitals vitals) {
    onReport(vitals.role(), vitals.rank(), vitals);
    nodes.add(vitals);
  }

  private void reported(ScalarReported scalar) {
    compared |= UpdateOutliers.reads(scalar.name());
    scalars.add(scalar, view.samples(), bytes);
  }

  /** Shows how far the updates of each worker are from those of the others. */
  private void compare(JsonArray updates) {
    for (int i = 0; i < updates.size(); i++) {
      JsonObject update = updates.getJsonObject(i).copy();
      int rank = (Integer) update.remove("rank");
      if (view.member(Role.WORKER, rank).isPresent()) {
        member(Role.WORKER, rank).compared(update);
      }
    }
  }

  private void suspected(MemberSuspected silent) {
    member(silent.role(), silent.rank()).suspected(silent.silentMillis());
  }

  private void joined(MemberJoined joined) {
    member(joined.role(), joined.rank()).joined(known(joined.role(), joined.rank()));
    if (joined.role() == Role.EVALUATOR && joined.incarnation() > 0) {
      tests.interrupt();
    }
  }

  private void left(MemberLeft left) {
    member(left.role(), left.rank()).left(known(left.role(), left.rank()));
  }

  private void onReport(Role role, int rank, TrainingEvent report) {
    onReport(role, rank, shown(report));
  }

  private void onReport(Role role, int rank, JsonObject values) {
    member(role, rank).onReport(known(role, rank), values);
  }

  private static JsonObject shown(TrainingEvent report) {
    JsonObject values = report.toJson();
    UNSHOWN.forEach(values::remove);
    return values;
  }

  private Member known(Role role, int rank) {
    return view.member(role, rank).orElseThrow();
  }

  private void move(List<WorkerProgress> window) {
    Map<Integer, WorkerProgress> last = new LinkedHashMap<>();
    window.forEach(progress -> last.put(progress.rank(), progress));
    List<MemberMetrics> workers =
        members.entrySet().stream()
            .filter(entry -> entry.getKey().startsWith("worker"))
            .map(Map.Entry::getValue)
            .toList();
    bytes = Math.round(workers.stream().mapToDouble(w -> w.number("bytesSent")).sum());
    for (WorkerRate rate : book.enter(window).workers()) {
      member(Role.WORKER, rate.rank()).moved(last.get(rate.rank()), rate, view.samples(), bytes);
    }
    state.workers(
        workers.stream().mapToDouble(w -> w.present() ? w.number("samplesPerSecond") : 0).sum(),
        mean(workers, "loss"),
        mean(workers, "accuracy"));
  }

  /**
   * Returns the mean over the workers that are present and have reported since they joined; NaN
   * when any of them reported NaN.
   */
  private static double mean(List<MemberMetrics> workers, String key) {
    return workers.stream()
        .filter(w -> w.present() && w.reports(key))
        .mapToDouble(w -> w.value(key))
        .average()
        .orElse(Double.NaN);
  }

  private MemberMetrics member(Role role, int rank) {
    String name = role.lower() + " " + rank;
    MemberMetrics known = members.get(name);
    if (known == null) {
      known = new MemberMetrics(role, rank);
      if (members.size() < MEMBERS) {
        members.put(name, known);
      }
    }
    return known;
  }
}
