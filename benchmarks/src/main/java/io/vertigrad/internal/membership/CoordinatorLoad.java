package io.vertigrad.internal.membership;

import com.sun.management.ThreadMXBean;
import io.vertigrad.compute.Block;
import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.events.Vitals;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Admitted;
import io.vertigrad.internal.membership.ControlMessage.ControlAnswer.Granted;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Heartbeat;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.JoinRequest;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.Leave;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.PauseReply;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest;
import io.vertigrad.internal.membership.ControlMessage.MemberRequest.Command;
import io.vertigrad.internal.membership.ControlMessage.Published;
import io.vertigrad.internal.membership.ControlMessage.Published.MembershipPublished;
import io.vertigrad.internal.membership.ControlMessage.Published.PausePublished;
import io.vertigrad.internal.membership.ControlMessage.Published.StopPublished;
import io.vertigrad.internal.membership.CoordinatorConfig.Places;
import io.vertigrad.internal.membership.Decision.Adopt;
import io.vertigrad.internal.membership.Decision.Announce;
import io.vertigrad.internal.membership.Decision.Conclude;
import io.vertigrad.internal.membership.Decision.Hold;
import io.vertigrad.internal.membership.Decision.Propose;
import io.vertigrad.internal.membership.Decision.Publish;
import io.vertigrad.internal.membership.Decision.Save;
import io.vertigrad.internal.membership.Decision.Stop;
import io.vertigrad.internal.membership.MemberStatus.ServerStatus;
import io.vertigrad.internal.membership.MemberStatus.WorkerStatus;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.StrategyProviders;
import io.vertigrad.strategy.StrategyTraits;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.json.JsonObject;
import java.lang.management.ManagementFactory;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * Runs a coordinator's state with many members, in one thread and with a simulated clock, and
 * measures what it costs.
 *
 * <p>Requests and answers are bytes: they are decoded and encoded as on the event bus, which is
 * part of the cost. Members and the event bus itself are not.
 */
public final class CoordinatorLoad {

  /** The phases, in order. */
  public static final String ALL_JOIN = "all join";

  public static final String HEARTBEATS = "heartbeats";
  public static final String ONE_LOST = "one worker is lost";
  public static final String ONE_JOINS = "its replacement joins";
  public static final String TENTH_LOST = "a tenth is lost";
  public static final String TENTH_JOINS = "its replacements join";
  public static final String ALL_LEAVE = "all leave";

  /** Duration of the phase {@link #HEARTBEATS} in seconds, of the simulated clock. */
  public static final int HEARTBEAT_SECONDS = 5;

  private static final Comparator<Admission> ORDER =
      Comparator.comparing(Admission::role)
          .thenComparingInt(Admission::rank)
          .thenComparingInt(Admission::incarnation);

  /** Numbers of round trips by their upper bounds in microseconds. */
  private static final Map<Integer, Long> ROUND_TRIPS = Map.of(500, 41L, 1_000, 12L, 5_000, 7L);

  private static final int TICK_MILLIS = 100;
  private static final int JOINS_PER_TICK = 1_000;
  private static final int HEARTBEAT_MILLIS = 1_000;
  private static final int SERVED_STEPS_PER_SECOND = 5;
  private static final long LAST_STEP = 1_000_000;
  private static final double NANOS_PER_MILLI = 1e6;

  /** A published message is encoded this often, to measure one encoding. */
  private static final int ENCODINGS = 8;

  /** ResNet-20's number of parameter arrays. */
  private static final int BLOCKS = 65;

  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private final JobTerms terms;
  private final ParameterLayout layout = layout();
  private final CoordinatorState state;
  private final ControlRequestHandler handler;
  private final Map<Admission, Member> members = new TreeMap<>(ORDER);
  private final Deque<Propose> proposals = new ArrayDeque<>();
  private final List<Cost> costs = new ArrayList<>();
  private Count current = new Count(ALL_JOIN);
  private long nowMillis = 1_000_000;
  private int tokens;

  /**
   * What one phase cost the coordinator.
   *
   * @param phase what happened
   * @param requests number of requests and answers that it received, by kind
   * @param receivedBytes bytes of those
   * @param sent number of its messages; a published one counts once for each member
   * @param sentBytes bytes of those
   * @param largestBytes size of its largest message
   * @param memberships number of published memberships
   * @param eventBytes bytes of the announced events, as JSON
   * @param stateMillis processor time of decoding, of the state, and of encoding answers and events
   * @param publishMillis processor time of encoding published messages, once for each receiver as
   *     the event bus does
   * @param allocatedBytes bytes allocated in {@code stateMillis}
   */
  public record Cost(
      String phase,
      Map<String, Long> requests,
      long receivedBytes,
      long sent,
      long sentBytes,
      long largestBytes,
      long memberships,
      long eventBytes,
      double stateMillis,
      double publishMillis,
      long allocatedBytes) {

    /** Returns the number of requests and answers that the coordinator received. */
    public long received() {
      return requests.values().stream().mapToLong(count -> count).sum();
    }
  }

  /** The cost of a phase so far. */
  private static final class Count {
    private final String phase;
    private final Map<String, Long> requests = new TreeMap<>();
    private long receivedBytes;
    private long sent;
    private long sentBytes;
    private long largestBytes;
    private long memberships;
    private long eventBytes;
    private double stateMillis;
    private double publishMillis;
    private long allocatedBytes;

    Count(String phase) {
      this.phase = phase;
    }

    Cost cost() {
      return new Cost(
          phase,
          requests,
          receivedBytes,
          sent,
          sentBytes,
          largestBytes,
          memberships,
          eventBytes,
          stateMillis,
          publishMillis,
          allocatedBytes);
    }
  }

  /** What the load knows of a member. */
  private static final class Member {
    private final Admission admission;
    private int epoch;
    private long pause;
    private boolean silent;

    Member(Admission admission) {
      this.admission = admission;
    }
  }

  private CoordinatorLoad(JobConfig job, int workers, int servers) {
    StrategyTraits traits =
        StrategyProviders.configure(job, CoordinatorLoad.class.getClassLoader()).traits();
    CoordinatorConfig of = CoordinatorConfig.of(job, traits);
    terms = of.terms();
    Places places = new Places(servers, workers, workers, servers > 0 ? workers : 0, 1, true, 1);
    CoordinatorConfig config =
        new CoordinatorConfig(
            of.run(),
            of.terms(),
            of.strategy(),
            of.traits(),
            LAST_STEP,
            LAST_STEP,
            places,
            of.waitMillis(),
            of.exchange(),
            of.checkpoint(),
            of.stop(),
            of.evaluations(),
            of.names());
    state = new CoordinatorState(config, () -> nowMillis, () -> nowMillis, this::carryOut);
    handler = new ControlRequestHandler(state);
  }

  /**
   * Runs a job from its first join to its last leave.
   *
   * @param strategy {@code sync}, with servers, or {@code allreduce}
   * @param workers number of workers, beyond the limit of a job file, too
   * @param servers number of servers; 0 for a strategy without
   * @return the cost of each phase, in order
   */
  public static List<Cost> run(String strategy, int workers, int servers) {
    JsonObject file =
        new JsonObject()
            .put("job", "scale")
            .put("strategy", new JsonObject().put("name", strategy))
            .put("exchange", new JsonObject().put("suspectMillis", 1_500).put("evictMillis", 3_000))
            .put("workers", new JsonObject().put("count", Math.min(workers, 4_096)));
    CoordinatorLoad load = new CoordinatorLoad(JobConfig.read("scale", file), workers, servers);
    load.play(workers, servers);
    return load.costs;
  }

  private void play(int workers, int servers) {
    int all = workers + servers + 1;
    int tenth = Math.max(1, workers / 10);
    joinAll(Role.SERVER, servers);
    joinAll(Role.EVALUATOR, 1);
    joinAll(Role.WORKER, workers);
    begin(HEARTBEATS);
    pass(1_000L * HEARTBEAT_SECONDS);
    begin(ONE_LOST);
    silence(workers - 1, 1);
    passUntil(all - 1);
    begin(ONE_JOINS);
    joinAll(Role.WORKER, 1);
    pass(TICK_MILLIS);
    begin(TENTH_LOST);
    silence(workers - tenth, tenth);
    passUntil(all - tenth);
    begin(TENTH_JOINS);
    joinAll(Role.WORKER, tenth);
    pass(TICK_MILLIS);
    begin(ALL_LEAVE);
    leaveAll();
    costs.add(current.cost());
  }

  private void begin(String phase) {
    costs.add(current.cost());
    current = new Count(phase);
  }

  private void joinAll(Role role, int count) {
    for (int i = 0; i < count; i++) {
      JoinRequest request =
          new JoinRequest(
              role,
              String.format(Locale.ROOT, "a1b2c3d4-0000-0000-0000-%012d", tokens++),
              "pid %s at 10.0.0.1".formatted(tokens),
              String.format(Locale.ROOT, "a1b2c3d4-0000-0000-0001-%012d", tokens),
              terms,
              layout,
              false,
              Optional.empty(),
              OptionalLong.empty(),
              status(role, false));
      ControlAnswer answer = request(request);
      if (!(answer instanceof Admitted admitted)) {
        throw new IllegalStateException("%s %s was not admitted: %s".formatted(role, i, answer));
      }
      Admission admission = admitted.admission();
      members.put(admission, new Member(admission));
      answerProposals();
      if (i % JOINS_PER_TICK == 0) {
        nowMillis += TICK_MILLIS;
        tick();
      }
    }
  }

  private void silence(int first, int count) {
    for (Member member : members.values()) {
      Admission as = member.admission;
      if (as.role() == Role.WORKER && as.rank() >= first && as.rank() < first + count) {
        member.silent = true;
      }
    }
  }

  private void passUntil(int left) {
    long end = nowMillis + 60_000;
    while (members.size() > left && nowMillis < end) {
      pass(TICK_MILLIS);
    }
    if (members.size() != left) {
      throw new IllegalStateException(
          "%s members after a minute, expected %s".formatted(members.size(), left));
    }
  }

  /** Lets time pass: each member sends a heartbeat a second, spread over the ticks. */
  private void pass(long millis) {
    for (long end = nowMillis + millis; nowMillis < end; ) {
      nowMillis += TICK_MILLIS;
      long slot = nowMillis / TICK_MILLIS % (HEARTBEAT_MILLIS / TICK_MILLIS);
      List<Member> due = new ArrayList<>();
      int position = 0;
      for (Member member : members.values()) {
        if (position++ % (HEARTBEAT_MILLIS / TICK_MILLIS) == slot && !member.silent) {
          due.add(member);
        }
      }
      due.forEach(this::heartbeat);
      tick();
      answerProposals();
    }
  }

  private void tick() {
    long cpu = THREADS.getCurrentThreadCpuTime();
    long bytes = THREADS.getCurrentThreadAllocatedBytes();
    state.onEventLoops(true);
    state.tick();
    charge(cpu, bytes);
    members.values().removeIf(member -> member.silent && !state.isHere(member.admission));
  }

  private void heartbeat(Member member) {
    Role role = member.admission.role();
    Heartbeat heartbeat =
        new Heartbeat(
            member.admission,
            member.epoch,
            status(role, false),
            Optional.of(
                new Vitals(
                    Map.of(
                        Vital.CORES,
                        0.97,
                        Vital.PROCESSORS,
                        8.0,
                        Vital.HEAP,
                        812_345_678.0,
                        Vital.HEAP_LIMIT,
                        2_147_483_648.0,
                        Vital.OFF_HEAP,
                        123_456_789.0,
                        Vital.RESIDENT,
                        1_234_567_890.0,
                        Vital.BUSY_GPUS,
                        0.97,
                        Vital.GPU_MEMORY,
                        71_234_567_890.0,
                        Vital.ROUND_TRIP_MEDIAN,
                        0.41,
                        Vital.ROUND_TRIP_99,
                        2.73),
                    60,
                    ROUND_TRIPS)),
            new PauseReply(member.pause, step()));
    if (request(heartbeat) instanceof Granted granted) {
      granted.membership().ifPresent(newer -> member.epoch = newer.epoch());
      granted.pause().ifPresent(newer -> member.pause = newer.number());
    }
  }

  private void leaveAll() {
    for (Member member : List.copyOf(members.values())) {
      Role role = member.admission.role();
      if (role == Role.WORKER && state.isHere(member.admission)) {
        request(new Leave(member.admission, LeaveReason.FINISHED, status(role, true)));
        answerProposals();
        members.remove(member.admission);
      }
    }
  }

  // ---- The coordinator

  private ControlAnswer request(ControlRequest request) {
    Buffer bytes = ControlCodec.write(request).toBuffer();
    current.receivedBytes += bytes.length();
    current.requests.merge(request.getClass().getSimpleName(), 1L, Long::sum);
    long cpu = THREADS.getCurrentThreadCpuTime();
    long allocated = THREADS.getCurrentThreadAllocatedBytes();
    Buffer answer = handler.answer(new JsonObject(bytes)).toBuffer();
    charge(cpu, allocated);
    sent(answer.length(), 1);
    return ControlCodec.answer(new JsonObject(answer));
  }

  private void charge(long cpuNanos, long allocatedBytes) {
    current.stateMillis += (THREADS.getCurrentThreadCpuTime() - cpuNanos) / NANOS_PER_MILLI;
    current.allocatedBytes += THREADS.getCurrentThreadAllocatedBytes() - allocatedBytes;
  }

  private void sent(int bytes, long receivers) {
    current.sent += receivers;
    current.sentBytes += bytes * receivers;
    current.largestBytes = Math.max(current.largestBytes, bytes);
  }

  private void carryOut(Decision decision) {
    if (decision instanceof Announce announce) {
      current.eventBytes += announce.event().toJson().toBuffer().length();
    } else if (decision instanceof Propose propose) {
      MemberRequest request = new MemberRequest.Propose(propose.next());
      sent(ControlCodec.write(request).toBuffer().length(), 1);
      proposals.add(propose);
    } else if (decision instanceof Publish publish) {
      current.memberships++;
      publish(new MembershipPublished(publish.membership()));
      members.values().stream()
          .filter(member -> !member.silent)
          .forEach(member -> member.epoch = publish.membership().epoch());
    } else if (decision instanceof Hold hold) {
      publish(new PausePublished(hold.pause()));
      members.values().stream()
          .filter(member -> !member.silent)
          .forEach(member -> member.pause = hold.pause().number());
    } else if (decision instanceof Stop stop) {
      publish(new StopPublished(stop.reason()));
    } else if (decision instanceof Adopt) {
      sent(ControlCodec.write(Command.ADOPT).toBuffer().length(), 1);
    } else if (decision instanceof Save save) {
      sent(ControlCodec.write(Command.CHECKPOINT).toBuffer().length(), save.servers().size());
    } else if (decision instanceof Conclude conclude) {
      sent(ControlCodec.write(Command.STATUS).toBuffer().length(), conclude.servers().size());
    }
  }

  private void publish(Published message) {
    JsonObject json = ControlCodec.write(message, state.state());
    long receivers = members.size();
    long cpu = THREADS.getCurrentThreadCpuTime();
    long allocated = THREADS.getCurrentThreadAllocatedBytes();
    int bytes = 0;
    for (int i = 0; i < ENCODINGS; i++) {
      bytes = json.toBuffer().length();
    }
    double spent = (THREADS.getCurrentThreadCpuTime() - cpu) / NANOS_PER_MILLI;
    current.publishMillis += spent / ENCODINGS * receivers;
    // The caller charges the state for this call as well.
    current.stateMillis -= spent;
    current.allocatedBytes -= THREADS.getCurrentThreadAllocatedBytes() - allocated;
    sent(bytes, receivers);
  }

  private void answerProposals() {
    while (!proposals.isEmpty()) {
      Propose propose = proposals.remove();
      int epoch = propose.next().epoch();
      int server = propose.server().rank();
      if (!state.isPending(epoch, server)) {
        continue;
      }
      List<ProposalAnswer.Start> starts =
          propose.next().workers().stream()
              .map(worker -> new ProposalAnswer.Start(worker.rank(), step(), step()))
              .toList();
      ProposalAnswer answer =
          new ProposalAnswer(OptionalLong.empty(), starts)
              .with(new ProposalAnswer.Held(step(), step(), List.of(0L)));
      Buffer bytes = ControlCodec.write(answer).toBuffer();
      current.receivedBytes += bytes.length();
      current.requests.merge("ProposalAnswer", 1L, Long::sum);
      long cpu = THREADS.getCurrentThreadCpuTime();
      long allocated = THREADS.getCurrentThreadAllocatedBytes();
      state.accepted(epoch, server, ControlCodec.proposalAnswer(new JsonObject(bytes)));
      charge(cpu, allocated);
    }
  }

  // ---- What members report

  private long step() {
    return (nowMillis - 1_000_000) / 1_000 * SERVED_STEPS_PER_SECOND;
  }

  private MemberStatus status(Role role, boolean last) {
    long step = last ? LAST_STEP : step();
    return switch (role) {
      case WORKER -> new WorkerStatus(step, step, 0, "", 0, false, 0, false);
      case SERVER ->
          new ServerStatus(step, step * 32, false, 0, Optional.empty(), Optional.empty());
      case EVALUATOR -> MemberStatus.NONE;
    };
  }

  private static ParameterLayout layout() {
    List<Block> blocks = new ArrayList<>();
    for (int i = 0; i < BLOCKS; i++) {
      blocks.add(new Block("block" + i + ".W", List.of(16, 16, 3, 3), Block.Kind.TRAINABLE));
    }
    return new ParameterLayout(blocks);
  }
}
