package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.CoordinatorState.JobProgress;
import io.vertigrad.internal.membership.FailureDetector.RunningTimeClock;
import io.vertigrad.internal.membership.MemberRegistry.MemberRecord;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StragglerReport;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notices that a worker takes no step for longer than a limit and reports who is missing: workers
 * that servers wait for, silent and absent members, or else workers that are behind. It repeats the
 * report once per limit, which grows with the length of the last steps. Time in which this process
 * did not run, in which training waits for a test, or a worker for data, does not count.
 */
final class StallFinder {

  private static final Logger LOG = LoggerFactory.getLogger(StallFinder.class);
  private static final int DESCRIBED = 16;
  private static final int STEP_LENGTHS = 3;
  private static final int MOST_LIMITS = 20;

  private final CoordinatorConfig config;
  private final MemberRegistry registry;
  private final JobProgress progress;
  private final BlockingTests tests;
  private final CoordinatorEvents events;
  private final Map<Admission, LastStep> lastSteps = new HashMap<>();
  private final RunningTimeClock clock;
  private long pausedMillis;
  private boolean reported;
  private long reportedMillis;

  private record LastStep(long step, long tested, long sinceMillis, long beforeMillis) {}

  StallFinder(
      CoordinatorConfig config,
      MemberRegistry registry,
      JobProgress progress,
      BlockingTests tests,
      CoordinatorEvents events,
      RunningTimeClock clock) {
    this.config = config;
    this.registry = registry;
    this.progress = progress;
    this.tests = tests;
    this.events = events;
    this.clock = clock;
  }

  /** Checks the last status of all members; called a few times a second. */
  void check(boolean running, long nowMillis) {
    boolean dataAwaited = registry.of(Role.WORKER).stream().anyMatch(MemberRecord::awaitsData);
    if (!running || dataAwaited || clock.pausedMillis() > pausedMillis) {
      lastSteps.clear();
    }
    pausedMillis = clock.pausedMillis();
    long longest = running ? longestStill(nowMillis) : 0;
    if (longest < limitMillis()) {
      reported = false;
    } else if (!reported || nowMillis - reportedMillis >= limitMillis()) {
      reported = true;
      reportedMillis = nowMillis;
      report(longest, nowMillis);
    }
  }

  /** Returns the longest of the last steps, several times, within multiples of the setting. */
  private long limitMillis() {
    long stall = config.exchange().stallMillis();
    long longest = lastSteps.values().stream().mapToLong(LastStep::beforeMillis).max().orElse(0);
    return Math.max(stall, Math.min(MOST_LIMITS * stall, STEP_LENGTHS * longest));
  }

  private long longestStill(long nowMillis) {
    List<MemberRecord> working =
        registry.of(Role.WORKER).stream().filter(this::isTraining).toList();
    lastSteps
        .keySet()
        .retainAll(working.stream().map(MemberRecord::admission).collect(Collectors.toSet()));
    long tested = registry.all().mapToLong(MemberRecord::tested).sum();
    return working.stream()
        .mapToLong(worker -> nowMillis - since(worker, tested, nowMillis))
        .max()
        .orElse(0);
  }

  /** Returns when the worker's current step, or the newest tested sample, was first reported. */
  private long since(MemberRecord worker, long tested, long nowMillis) {
    long step = worker.step().orElseThrow();
    LastStep old = lastSteps.get(worker.admission());
    if (old != null && old.step() == step && old.tested() == tested) {
      return old.sinceMillis();
    }
    boolean stepped = old != null && old.step() != step;
    long before = old == null ? 0 : stepped ? nowMillis - old.sinceMillis() : old.beforeMillis();
    lastSteps.put(worker.admission(), new LastStep(step, tested, nowMillis, before));
    return nowMillis;
  }

  /** Returns whether a worker takes part, has reported its step and has not reached the end. */
  private boolean isTraining(MemberRecord worker) {
    return worker.published()
        && worker.step().isPresent()
        && worker.version().orElse(0) < config.lastVersion();
  }

  private void report(long stillMillis, long nowMillis) {
    Map<Integer, StragglerReport> stragglers = new TreeMap<>();
    registry
        .of(Role.SERVER)
        .forEach(
            server -> server.straggler().ifPresent(wait -> stragglers.put(server.rank(), wait)));
    String missing = missing(stragglers, nowMillis);
    String where =
        stragglers.entrySet().stream()
            .limit(DESCRIBED)
            .map(entry -> entry.getValue().describe(entry.getKey()))
            .collect(Collectors.joining("; "));
    String lastReports =
        registry
            .all()
            .limit(DESCRIBED)
            .map(member -> member.describeStatus(nowMillis))
            .collect(Collectors.joining("; "));
    String awaited = where.isEmpty() ? "" : where + "; ";
    LOG.warn("no step for {} ms: missing {}; {}{}", stillMillis, missing, awaited, lastReports);
    events.stalled(progress.version(), stillMillis, missing, where, lastReports);
  }

  private String missing(Map<Integer, StragglerReport> stragglers, long nowMillis) {
    Set<String> found = new LinkedHashSet<>();
    stragglers.values().stream()
        .flatMap(wait -> wait.workers().stream())
        .distinct()
        .sorted()
        .forEach(rank -> found.add(config.names().of(Role.WORKER, rank)));
    found.add(registry.missing(Role.SERVER, config.places().servers()));
    found.add(tests.trainingWaits() ? config.names().of(Role.EVALUATOR, 0) : "");
    found.remove("");
    registry
        .all()
        .filter(member -> member.silentMillis(nowMillis) >= config.exchange().suspectMillis())
        .map(member -> config.names().of(member.admission().role(), member.rank()))
        .forEach(found::add);
    return found.isEmpty()
        ? slowestWorkers(nowMillis)
        : StragglerReport.listed(List.copyOf(found), ", ");
  }

  /** Names the slowest workers, or without common steps those that have not moved for the limit. */
  private String slowestWorkers(long nowMillis) {
    List<MemberRecord> working =
        registry.of(Role.WORKER).stream().filter(this::isTraining).toList();
    long slowest =
        working.stream().mapToLong(worker -> worker.step().orElseThrow()).min().orElse(0);
    List<MemberRecord> late =
        working.stream()
            .filter(
                worker ->
                    config.traits().stepsTogether()
                        ? worker.step().orElseThrow() == slowest
                        : stillMillis(worker, nowMillis) >= config.exchange().stallMillis())
            .toList();
    List<String> named = late.stream().map(worker -> position(worker, nowMillis)).toList();
    return "the next step of " + StragglerReport.listed(named, ", ") + "; nobody is silent";
  }

  private String position(MemberRecord worker, long nowMillis) {
    return "%s (at step %s for %s ms, last heard %s ms ago)"
        .formatted(
            config.names().of(Role.WORKER, worker.rank()),
            worker.step().orElseThrow(),
            stillMillis(worker, nowMillis),
            worker.silentMillis(nowMillis));
  }

  private long stillMillis(MemberRecord worker, long nowMillis) {
    return nowMillis - lastSteps.get(worker.admission()).sinceMillis();
  }
}
