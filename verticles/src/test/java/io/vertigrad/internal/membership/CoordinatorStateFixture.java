package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.CoordinatorConfig.Places;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.CheckpointConfig;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.Role;
import io.vertigrad.job.RunConfig;
import io.vertigrad.job.StopConfig;
import io.vertigrad.strategy.EvaluationPlan;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.StrategyTraits;
import io.vertigrad.strategy.StrategyTraits.Rounds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Function;

/** A coordinator's state with a manual clock, and all of its decisions. */
final class CoordinatorStateFixture {

  final List<Decision> decisions = new ArrayList<>();
  final CoordinatorState coordinator;
  private final List<Admission> silent = new ArrayList<>();
  private final Map<Admission, MemberStatus> statuses = new HashMap<>();
  private final List<Admission> alive = new ArrayList<>();
  private final JobTerms terms;
  private boolean eventLoopsRun = true;
  private long now = 1_000_000;
  private int tokens;

  CoordinatorStateFixture(CoordinatorConfig config) {
    terms = config.terms();
    coordinator = new CoordinatorState(config, () -> now, () -> 0, decisions::add);
  }

  static CoordinatorConfig config(int servers, int workers, boolean lockstep) {
    return config(servers, workers, 4096, lockstep);
  }

  /** Returns a configuration with room for this many workers. */
  static CoordinatorConfig config(int servers, int workers, int places, boolean lockstep) {
    return config(servers, workers, places, lockstep, 1, StopConfig.NONE);
  }

  /** Returns a configuration that may end early, at a multiple of {@code endsEvery} versions. */
  static CoordinatorConfig config(
      int servers, int workers, int places, boolean lockstep, long endsEvery, StopConfig stop) {
    Rounds rounds = lockstep ? Rounds.SOME_RANKS : Rounds.NONE;
    StrategyTraits traits =
        servers > 0 ? StrategyTraits.atServers(rounds) : StrategyTraits.atWorkers(rounds);
    return new CoordinatorConfig(
        new RunConfig(Optional.of("run"), 0),
        new JobTerms(Map.of(), Map.of()),
        "sync",
        traits.exchangingEvery(endsEvery),
        1_000,
        1_000,
        new Places(servers, workers, places, 0, 2, true, 0),
        60_000,
        ExchangeConfig.usual(),
        new CheckpointConfig(1, 0, 1, Optional.empty()),
        stop,
        new EvaluationPlan(10, 1_000),
        MemberNames.BY_ROLE);
  }

  /** Returns the same with an evaluator that training waits for at versions 1, 11, 21 and so on. */
  static CoordinatorConfig waitingForTests(CoordinatorConfig c) {
    return with(
        c,
        c.run(),
        withEvaluator(c.places()),
        c.checkpoint(),
        new EvaluationPlan(-9, 10, 1, c.lastVersion(), true, !c.traits().lockstep()));
  }

  /** Returns the same with an evaluator, and with one worker as the minimum. */
  static Places withEvaluator(Places p) {
    return new Places(
        p.servers(),
        p.workers(),
        p.workerCapacity(),
        p.rememberedRanks(),
        1,
        p.holdsWhenTooFew(),
        1);
  }

  /** Returns the same for a run that had one coordinator before. */
  static CoordinatorConfig resumed(CoordinatorConfig c) {
    return with(c, new RunConfig(c.run().id(), 1), c.places(), c.checkpoint(), c.evaluations());
  }

  /** Returns the same for a job whose members agree on these settings. */
  static CoordinatorConfig agreeing(CoordinatorConfig c, Map<String, String> settings) {
    return new CoordinatorConfig(
        c.run(),
        new JobTerms(settings, Map.of()),
        c.strategy(),
        c.traits(),
        c.steps(),
        c.lastVersion(),
        c.places(),
        c.waitMillis(),
        c.exchange(),
        c.checkpoint(),
        c.stop(),
        c.evaluations(),
        c.names());
  }

  /** Returns the same with timed checkpoints. */
  static CoordinatorConfig savingEvery(long millis, CoordinatorConfig c) {
    CheckpointConfig timed = new CheckpointConfig(0, millis / 1_000.0, 1, Optional.empty());
    return with(c, c.run(), c.places(), timed, c.evaluations());
  }

  static CoordinatorConfig with(CoordinatorConfig c, Places places) {
    return with(c, c.run(), places, c.checkpoint(), c.evaluations());
  }

  private static CoordinatorConfig with(
      CoordinatorConfig c,
      RunConfig run,
      Places places,
      CheckpointConfig checkpoint,
      EvaluationPlan evaluations) {
    return new CoordinatorConfig(
        run,
        c.terms(),
        c.strategy(),
        c.traits(),
        c.steps(),
        c.lastVersion(),
        places,
        c.waitMillis(),
        c.exchange(),
        checkpoint,
        c.stop(),
        evaluations,
        c.names());
  }

  Admission join(Role role) {
    return join(role, FakeMember.LAYOUT, MemberStatus.NONE);
  }

  /** Joins again after an eviction. */
  Admission joinAgain(Admission before) {
    return join(
        before.role(),
        FakeMember.LAYOUT,
        MemberStatus.NONE,
        Optional.of(before),
        OptionalLong.empty());
  }

  /** Joins as a server that still has a version in memory and does not serve it yet. */
  Admission joinAgain(Admission before, long holds) {
    return join(
        before.role(),
        FakeMember.LAYOUT,
        MemberStatus.STARTING,
        Optional.of(before),
        OptionalLong.of(holds));
  }

  Admission join(Role role, ParameterLayout layout, MemberStatus status) {
    return join(role, layout, status, Optional.empty(), OptionalLong.empty());
  }

  /** Joins from a process of its own. */
  Admission joinFrom(String node, Role role, MemberStatus status) {
    Admission admission = coordinator.join(requestFrom(node, role, status));
    alive.add(admission);
    return admission;
  }

  /** Returns the request of a newcomer, which is the same whenever the node repeats it. */
  JoinRequest requestFrom(String node, Role role, MemberStatus status) {
    return request("token of " + node, node, role, status);
  }

  /** Returns the request of a newcomer without a past. */
  static JoinRequest request(String token, String node, Role role, MemberStatus status) {
    return new JoinRequest(
        role,
        token,
        node,
        "",
        new JobTerms(Map.of(), Map.of()),
        FakeMember.LAYOUT,
        false,
        Optional.empty(),
        OptionalLong.empty(),
        status);
  }

  /** Lets a member leave in good order. */
  void leave(Admission member) {
    alive.remove(member);
    coordinator.leave(
        member, LeaveReason.STOPPED, statuses.getOrDefault(member, MemberStatus.NONE));
  }

  private Admission join(
      Role role,
      ParameterLayout layout,
      MemberStatus status,
      Optional<Admission> before,
      OptionalLong holds) {
    JoinRequest request =
        new JoinRequest(
            role, "token " + tokens++, "nowhere", "", terms, layout, false, before, holds, status);
    Admission admission = coordinator.join(request);
    alive.add(admission);
    return admission;
  }

  /** Joins as a worker of the process with this name. */
  Admission joinAt(String node) {
    JoinRequest request = request("token " + tokens++, node, Role.WORKER, MemberStatus.NONE);
    Admission admission = coordinator.join(request);
    alive.add(admission);
    return admission;
  }

  /** Joins as a worker that another worker's process has started. */
  Admission joinAsSubstitute() {
    JoinRequest request =
        new JoinRequest(
            Role.WORKER,
            "token " + tokens++,
            "nowhere",
            "",
            new JobTerms(Map.of(), Map.of()),
            FakeMember.LAYOUT,
            true,
            Optional.empty(),
            OptionalLong.empty(),
            MemberStatus.NONE);
    Admission admission = coordinator.join(request);
    alive.add(admission);
    return admission;
  }

  /** Lets all servers and workers join, and all servers accept the membership. */
  CoordinatorStateFixture started(int servers, int workers) {
    for (int i = 0; i < servers; i++) {
      join(Role.SERVER);
    }
    for (int i = 0; i < workers; i++) {
      join(Role.WORKER);
    }
    if (servers > 0) {
      acceptAll();
    }
    return this;
  }

  void acceptAll() {
    Decision.Propose last = last(Decision.Propose.class);
    last.next()
        .servers()
        .forEach(s -> coordinator.accepted(last.next().epoch(), s.rank(), ProposalAnswer.ACCEPTED));
  }

  void silence(Admission member) {
    silent.add(member);
  }

  /** Sends this status with every heartbeat from now on. */
  /** Returns the status of a worker in the step after the last version that it received. */
  static MemberStatus worker(long version, boolean ended) {
    return new WorkerStatus(version, version, 0, "", 0, ended, 0, false);
  }

  void setStatus(Admission member, MemberStatus status) {
    statuses.put(member, status);
  }

  /** Sends these statuses with every heartbeat from now on. */
  void setStatuses(Function<Admission, MemberStatus> of) {
    alive.forEach(member -> statuses.put(member, of.apply(member)));
  }

  void heartbeat(Admission member, MemberStatus status) {
    coordinator.heartbeat(member, status);
  }

  /** Lets time pass in ticks of 100 ms; members that were not silenced send heartbeats. */
  void advance(long millis) {
    for (long end = now + millis; now < end; ) {
      now += 100;
      alive.stream().filter(m -> !silent.contains(m)).forEach(this::sendHeartbeat);
      coordinator.onEventLoops(eventLoopsRun);
      coordinator.tick();
    }
  }

  /** Blocks an event loop of the coordinator's process, or lets it run again. */
  void setEventLoopsRun(boolean run) {
    eventLoopsRun = run;
  }

  /** Lets a silenced member send heartbeats again. */
  void resume(Admission member) {
    silent.remove(member);
  }

  /** Lets time pass in which no process ran, the coordinator's included. */
  void freeze(long millis) {
    now += millis;
    coordinator.tick();
  }

  <D extends Decision> List<D> all(Class<D> type) {
    return decisions.stream().filter(type::isInstance).map(type::cast).toList();
  }

  <D extends Decision> D last(Class<D> type) {
    List<D> found = all(type);
    return found.get(found.size() - 1);
  }

  <E extends TrainingEvent> List<E> events(Class<E> type) {
    return all(Decision.Announce.class).stream()
        .map(Decision.Announce::event)
        .filter(type::isInstance)
        .map(type::cast)
        .toList();
  }

  Membership published() {
    return last(Decision.Publish.class).membership();
  }

  String failure() {
    return last(Decision.Complete.class).outcome().failure().orElse(null);
  }

  private void sendHeartbeat(Admission member) {
    coordinator.heartbeat(member, statuses.getOrDefault(member, MemberStatus.NONE));
  }
}
