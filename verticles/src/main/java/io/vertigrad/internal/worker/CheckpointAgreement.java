package io.vertigrad.internal.worker;

import io.vertigrad.internal.collective.LeaderGather;
import io.vertigrad.internal.worker.ReplicaCheckpoints.RunVersion;
import io.vertigrad.strategy.PeerGroup;
import io.vertigrad.strategy.Peers;
import io.vertigrad.strategy.Tag;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/**
 * Lets all members of a group agree on the newest state that every member has, so that no two
 * members continue from different steps.
 */
public final class CheckpointAgreement {

  private static final int ROUND = 0;
  private static final int STATEMENT = 1_000;
  private static final int DECISION = 1_001;
  private static final int BEYOND_RANKS = 1;
  private static final int REPEATABLE = 2;
  private static final int HAS_MEMORY = 4;
  private static final int RESTORE = 0;
  private static final int KEEP = 1;
  private static final int NOTHING = 2;

  private CheckpointAgreement() {}

  /**
   * The report of one member about itself.
   *
   * @param inMemory the state that the member holds in memory; empty if it holds only the initial
   *     one
   * @param restorable states that it can restore
   * @param beyondRanks true for a member beyond the job's configured ranks; it continues from the
   *     state that the others choose
   * @param repeatable false once the member has trained in a group with an extra member, because
   *     nobody can repeat that result
   */
  public record Statement(
      Optional<RunVersion> inMemory,
      List<RunVersion> restorable,
      boolean beyondRanks,
      boolean repeatable) {

    public Statement {
      restorable = List.copyOf(restorable);
    }

    private List<RunVersion> states() {
      List<RunVersion> states = new ArrayList<>(restorable);
      inMemory.ifPresent(states::add);
      return states;
    }
  }

  /** The states that a group may continue from. */
  public enum Rule {
    /** Only a state that all members have. */
    COMMON_STATE,
    /** The newest state that any member holds in memory; that member sends it to all others. */
    ANY_MEMORY
  }

  /**
   * The outcome of the agreement.
   *
   * @param from the newest state that all members have; empty when every member keeps its state
   * @param run the training run that continues from there; a new number for a new run
   */
  public record Agreed(Optional<RunVersion> from, long run) {}

  /**
   * Takes part in the agreement. Blocks until all members have reported.
   *
   * @param own the states that this member can continue from
   * @param rule the same in all members
   * @param newRun a number that no other run has, used if a new run begins
   * @return empty when there is no state that all members have
   */
  public static Optional<Agreed> hold(
      Peers peers, PeerGroup group, Statement own, Rule rule, long newRun) {
    ByteBuffer answer =
        LeaderGather.decide(
            peers,
            group,
            new Tag(ROUND, STATEMENT, 0),
            new Tag(ROUND, DECISION, 0),
            write(own),
            statements ->
                write(
                    decision(
                        statements.stream().map(CheckpointAgreement::read).toList(),
                        rule,
                        newRun)));
    return readDecision(answer);
  }

  private static Optional<Agreed> decision(List<Statement> statements, Rule rule, long newRun) {
    List<Statement> rankMembers = statements.stream().filter(one -> !one.beyondRanks()).toList();
    boolean repeatable =
        rankMembers.size() == statements.size()
            && rankMembers.stream().allMatch(Statement::repeatable);
    boolean allRemember = rankMembers.stream().allMatch(one -> one.inMemory().isPresent());
    Optional<RunVersion> furthest =
        rankMembers.stream()
            .flatMap(one -> one.inMemory().stream())
            .max(Comparator.comparingLong(RunVersion::version));
    boolean keep =
        rule == Rule.ANY_MEMORY
            ? furthest.isPresent()
            : rankMembers.size() > 0 && !repeatable && allRemember;
    if (keep) {
      return Optional.of(new Agreed(Optional.empty(), furthest.get().run()));
    }
    return newestCommon(rankMembers)
        .map(from -> new Agreed(Optional.of(from), run(from, repeatable, newRun)));
  }

  /** Repeating steps with a different set of members gives different states, so the run is new. */
  private static long run(RunVersion from, boolean repeatable, long newRun) {
    return repeatable && from.run() != RunVersion.BEGINNING.run() ? from.run() : newRun;
  }

  private static Optional<RunVersion> newestCommon(List<Statement> rankMembers) {
    if (rankMembers.isEmpty()) {
      return Optional.empty();
    }
    List<RunVersion> common = new ArrayList<>(rankMembers.get(0).states());
    rankMembers.forEach(one -> common.retainAll(one.states()));
    return common.stream().max(Comparator.comparingLong(RunVersion::version));
  }

  private static ByteBuffer write(Statement statement) {
    List<RunVersion> states = statement.states();
    ByteBuffer bytes = longs(1 + 2 * states.size());
    int flags = statement.beyondRanks() ? BEYOND_RANKS : 0;
    flags |= statement.repeatable() ? REPEATABLE : 0;
    flags |= statement.inMemory().isPresent() ? HAS_MEMORY : 0;
    bytes.putLong(flags);
    states.forEach(state -> bytes.putLong(state.version()).putLong(state.run()));
    return bytes.flip();
  }

  /** Reads a statement. If the member has a state in memory, it is the last in the list. */
  private static Statement read(ByteBuffer bytes) {
    long flags = bytes.getLong();
    List<RunVersion> states = new ArrayList<>();
    while (bytes.remaining() >= 2 * Long.BYTES) {
      states.add(new RunVersion(bytes.getLong(), bytes.getLong()));
    }
    Optional<RunVersion> inMemory =
        (flags & HAS_MEMORY) == 0
            ? Optional.empty()
            : Optional.of(states.remove(states.size() - 1));
    return new Statement(inMemory, states, (flags & BEYOND_RANKS) != 0, (flags & REPEATABLE) != 0);
  }

  private static ByteBuffer write(Optional<Agreed> decided) {
    Agreed agreed = decided.orElse(new Agreed(Optional.empty(), 0));
    RunVersion from = agreed.from().orElse(RunVersion.BEGINNING);
    int kind = agreed.from().isPresent() ? RESTORE : KEEP;
    return longs(4)
        .putLong(decided.isPresent() ? kind : NOTHING)
        .putLong(from.version())
        .putLong(from.run())
        .putLong(agreed.run())
        .flip();
  }

  private static Optional<Agreed> readDecision(ByteBuffer bytes) {
    int kind = (int) bytes.getLong();
    RunVersion from = new RunVersion(bytes.getLong(), bytes.getLong());
    long run = bytes.getLong();
    return switch (kind) {
      case RESTORE -> Optional.of(new Agreed(Optional.of(from), run));
      case KEEP -> Optional.of(new Agreed(Optional.empty(), run));
      default -> Optional.empty();
    };
  }

  private static ByteBuffer longs(int count) {
    return ByteBuffer.allocate(count * Long.BYTES).order(ByteOrder.LITTLE_ENDIAN);
  }
}
