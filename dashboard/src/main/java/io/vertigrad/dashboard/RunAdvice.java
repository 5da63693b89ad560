package io.vertigrad.dashboard;

import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.dashboard.RunFigures.Host;
import io.vertigrad.dashboard.RunFigures.Test;
import io.vertigrad.dashboard.RunFigures.Worker;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.JobStarted;
import io.vertigrad.events.TrainingEvent.PeerExchange;
import io.vertigrad.events.TrainingEvent.ServerProgress;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.observability.EventFold;
import io.vertigrad.run.RunView;
import io.vertigrad.run.RunView.Condition;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.run.RunView.Phase;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Says how a run is doing and what to try: the first {@value #MOST} of the {@link AdviceRule}s that
 * apply. While the run goes on, a rule appears and disappears only after several reports in
 * sequence, and nothing is said in the first seconds. At the end the whole run is judged.
 */
final class RunAdvice {

  /** Most sentences at a time. */
  static final int MOST = 2;

  /** So many reports in sequence a rule applies before it is shown, or does not before it goes. */
  static final int HELD = 6;

  /** The figures in a shown sentence are renewed after so many reports. */
  static final int RENEWED = 30;

  /** Nothing is said in this time after the first report. */
  static final long EARLY_MILLIS = 5_000;

  /** The figures of workers are those of the last one or two times so long. */
  static final long RECENT_MILLIS = 10_000;

  private static final int TESTS = 1_000;

  /** The counters of all workers, and all refused updates, at a time. */
  private record Totals(long timeMillis, Map<Integer, WorkerProgress> workers, long refused) {}

  private final JsonObject config;
  private final OptionalInt classes;
  private final RunView view;
  private final Curve curve = new Curve("version", "loss");
  private final List<Test> tests = new ArrayList<>();
  private final Map<Integer, Long> refusedByServer = new HashMap<>();
  private final Map<Integer, Long> skippedByWorker = new HashMap<>();
  private final Map<Integer, WorkerProgress> firstReports = new HashMap<>();
  private final Map<AdviceRule, Integer> sequences = new EnumMap<>(AdviceRule.class);
  private final Map<AdviceRule, Advice> shown = new EnumMap<>(AdviceRule.class);
  private final EventFold fold =
      new EventFold()
          .on(Evaluated.class, this::keep)
          .on(ServerProgress.class, this::keep)
          .on(PeerExchange.class, peer -> skippedByWorker.put(peer.rank(), peer.skipped()));

  private Map<String, Host> hosts = Map.of();
  private Totals first;
  private Totals earlier;
  private Totals later;
  private Totals last;
  private JsonObject summary = new JsonObject();
  private boolean lossIsFinite = true;
  private int testSamples;

  /**
   * Creates the advice of a run before its first event.
   *
   * @param job the run's job
   * @param view includes each event before it is passed to {@link #apply}
   */
  RunAdvice(JobConfig job, RunView view) {
    config = job.json();
    classes = DatasetProvider.classes(job.data(), RunAdvice.class.getClassLoader());
    this.view = view;
  }

  /** Processes the next event. */
  void apply(TrainingEvent event) {
    fold.apply(event);
  }

  private void keep(ServerProgress server) {
    view.server(server.shard())
        .ifPresent(total -> refusedByServer.put(server.shard(), total.refused()));
  }

  /** Takes the {@code summary.json} of a run that is over. */
  void summarize(JsonObject result) {
    summary = result;
  }

  /** Keeps a test with as many samples as the first one; another one has another mean loss. */
  private void keep(Evaluated test) {
    testSamples = testSamples == 0 ? test.samples() : testSamples;
    if (test.samples() == 0 || test.samples() != testSamples || !Double.isFinite(test.loss())) {
      return;
    }
    if (tests.size() == TESTS) {
      for (int i = TESTS - 1; i > 0; i -= 2) {
        tests.remove(i);
      }
    }
    tests.add(new Test(test.version(), test.loss()));
  }

  /**
   * Judges the run after a window of events.
   *
   * @param reported whether a worker has reported in it
   */
  void judge(boolean reported) {
    if (reported) {
      record();
    }
    Phase phase = view.phase();
    if (phase == Phase.FAILED) {
      // Its reason says what went wrong.
      shown.clear();
    } else if (last != null && (phase == Phase.FINISHED || phase == Phase.STOPPED)) {
      RunFigures run = figures(true, first);
      shown.clear();
      for (AdviceRule rule : AdviceRule.values()) {
        rule.judge(run).ifPresent(advice -> shown.put(rule, advice));
      }
    } else if (reported && last.timeMillis() - first.timeMillis() >= EARLY_MILLIS) {
      RunFigures run = figures(false, earlier);
      for (AdviceRule rule : AdviceRule.values()) {
        show(rule, rule.judge(run));
      }
    }
  }

  /** Shows or hides what a rule says, once it has said so for long enough. */
  private void show(AdviceRule rule, Optional<Advice> advice) {
    int sequence = sequences.getOrDefault(rule, 0);
    int now = advice.isPresent() ? Math.max(0, sequence) + 1 : Math.min(0, sequence) - 1;
    sequences.put(rule, now);
    if (now <= -HELD) {
      shown.remove(rule);
    } else if (now == HELD && !shown.containsKey(rule) || now > 0 && now % RENEWED == 0) {
      shown.put(rule, advice.orElseThrow());
    }
  }

  /** Notes the counters and the loss of the workers. */
  private void record() {
    Map<Integer, WorkerProgress> workers = new HashMap<>();
    view.workers().forEach(worker -> workers.put(worker.rank(), worker));
    long now = workers.values().stream().mapToLong(WorkerProgress::timeMillis).max().orElseThrow();
    long refused = sum(refusedByServer) + sum(skippedByWorker);
    last = new Totals(now, workers, refused);
    workers.forEach(firstReports::putIfAbsent);
    if (first == null) {
      first = new Totals(now, firstReports, refused);
      earlier = last;
      later = last;
    } else if (now - later.timeMillis() >= RECENT_MILLIS) {
      earlier = later;
      later = last;
    }
    // A stage that is not the last one counts no samples and has no loss.
    List<WorkerProgress> current =
        workers.values().stream()
            .filter(worker -> worker.samples() > 0 && member(worker).present())
            .toList();
    if (!current.isEmpty()) {
      lossIsFinite = current.stream().allMatch(worker -> Double.isFinite(worker.loss()));
    }
    curve.add(now, view.version(), view.trainingLoss());
    if (workers.values().stream().noneMatch(this::isDone)) {
      hosts = hosts();
    }
  }

  /** Returns whether a worker has left in good order, as all do at the end. */
  private boolean isDone(WorkerProgress worker) {
    return member(worker).condition() == Condition.LEFT;
  }

  private Member member(WorkerProgress worker) {
    return view.member(Role.WORKER, worker.rank()).orElseThrow();
  }

  private static long sum(Map<Integer, Long> counts) {
    return counts.values().stream().mapToLong(Long::longValue).sum();
  }

  /** Returns the machines of the members that take part, as far as they have reported them. */
  private Map<String, Host> hosts() {
    Map<String, Vitals> nodes = new LinkedHashMap<>();
    for (Member member : view.members()) {
      view.vitals(member).ifPresent(measured -> nodes.put(member.node(), measured));
    }
    Map<String, Host> found = new LinkedHashMap<>();
    nodes.forEach(
        (node, measured) ->
            found.merge(
                host(node),
                new Host((int) measured.value(Vital.PROCESSORS), measured.value(Vital.CORES)),
                (one, other) -> new Host(one.processors(), one.busy() + other.busy())));
    return found;
  }

  /** Returns the machine of a process, {@code HOST pid N}. */
  private static String host(String node) {
    int end = node.indexOf(" pid ");
    return end < 0 ? node : node.substring(0, end);
  }

  private RunFigures figures(boolean ended, Totals base) {
    return new RunFigures(
        config,
        classes,
        summary,
        ended,
        view.phase() == Phase.STOPPED || view.ending().isPresent(),
        view.started().map(JobStarted::parameters).orElse(0L),
        (last.timeMillis() - base.timeMillis()) / 1e3,
        curve.column("version"),
        curve.column("loss"),
        lossIsFinite,
        Math.max(0, last.refused() - earlier.refused()),
        tests,
        workers(ended, base.workers()),
        hosts);
  }

  /** Returns what workers did since a time; those that take part, or at the end all. */
  private List<Worker> workers(boolean all, Map<Integer, WorkerProgress> since) {
    List<Worker> found = new ArrayList<>();
    for (WorkerProgress now : last.workers().values()) {
      Member member = member(now);
      WorkerProgress before = since.getOrDefault(now.rank(), firstReports.get(now.rank()));
      if (all || member.present()) {
        found.add(
            new Worker(
                now.rank(),
                host(member.node()),
                now.samples() - before.samples(),
                now.secondsComputing() - before.secondsComputing(),
                now.secondsExchanging() - before.secondsExchanging(),
                now.secondsWaitingForData() - before.secondsWaitingForData(),
                count(now) - count(before),
                ages(now) - ages(before)));
      }
    }
    return found;
  }

  private static long count(WorkerProgress worker) {
    return worker.staleness().values().stream().mapToLong(Long::longValue).sum();
  }

  private static long ages(WorkerProgress worker) {
    return worker.staleness().entrySet().stream()
        .mapToLong(age -> age.getKey() * age.getValue())
        .sum();
  }

  /** Returns what is shown, the most important first: objects with {@code rule}, text and keys. */
  JsonArray toJson() {
    JsonArray json = new JsonArray();
    shown.entrySet().stream()
        .limit(MOST)
        .forEach(
            entry ->
                json.add(
                    new JsonObject()
                        .put("rule", entry.getKey().key())
                        .put("found", entry.getValue().found())
                        .put("try", entry.getValue().remedy())));
    return json;
  }
}
