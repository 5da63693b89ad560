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
  private static final int ASK = 1_000;
  private static final int TELL = 1_001;
  private static final int EXTRA = 1;
  private static final int EXACT = 2;
  private static final int REMEMBERS = 4;
  private static final int RESTORE = 0;
  private static final int KEEP = 1;
  private static final int NOTHING = 2;

  private CheckpointAgreement() {}

  /**
   * What one member reports about itself.
   *
   * @param memory the state that the member holds in memory; empty if it holds only the initial one
   * @param kept states that it can restore
   * @param extra true for a member beyond the job's configured ranks; it continues from the state
   *     that the others choose
   * @param exact false once the member has trained in a group with an extra member, because nobody
   *     can repeat that result
   */
  public record Statement(
      Optional<RunVersion> memory, List<RunVersion> kept, boolean extra, boolean exact) {

    public Statement {
      kept = List.copyOf(kept);
    }

    private List<RunVersion> states() {
      List<RunVersion> states = new ArrayList<>(kept);
      memory.ifPresent(states::add);
      return states;
    }
  }

  /** Which states a group may continue from. */
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
   * @param mine the states that this member can continue from
   * @param rule the same in all members
   * @param fresh a number that no other run has, used if a new run begins
   * @return empty when there is no state that all members have
   */
  public static Optional<Agreed> hold(
      Peers peers, PeerGroup group, Statement mine, Rule rule, long fresh) {
    ByteBuffer told =
        LeaderGather.decide(
            peers,
            group,
            new Tag(ROUND, ASK, 0),
            new Tag(ROUND, TELL, 0),
            write(mine),
            said ->
                write(
                    decision(said.stream().map(CheckpointAgreement::read).toList(), rule, fresh)));
    return readDecision(told);
  }

  private static Optional<Agreed> decision(List<Statement> said, Rule rule, long fresh) {
    List<Statement> bound = said.stream().filter(one -> !one.extra()).toList();
    boolean exact = bound.size() == said.size() && bound.stream().allMatch(Statement::exact);
    boolean allRemember = bound.stream().allMatch(one -> one.memory().isPresent());
    Optional<RunVersion> furthest =
        bound.stream()
            .flatMap(one -> one.memory().stream())
            .max(Comparator.comparingLong(RunVersion::version));
    boolean keep =
        rule == Rule.ANY_MEMORY ? furthest.isPresent() : bound.size() > 0 && !exact && allRemember;
    if (keep) {
      return Optional.of(new Agreed(Optional.empty(), furthest.get().run()));
    }
    return newestCommon(bound).map(from -> new Agreed(Optional.of(from), run(from, exact, fresh)));
  }

  /** Repeating steps with a different set of members gives different states, so the run is new. */
  private static long run(RunVersion from, boolean exact, long fresh) {
    return exact && from.run() != RunVersion.BEGINNING.run() ? from.run() : fresh;
  }

  private static Optional<RunVersion> newestCommon(List<Statement> bound) {
    if (bound.isEmpty()) {
      return Optional.empty();
    }
    List<RunVersion> common = new ArrayList<>(bound.get(0).states());
    bound.forEach(one -> common.retainAll(one.states()));
    return common.stream().max(Comparator.comparingLong(RunVersion::version));
  }

  private static ByteBuffer write(Statement said) {
    List<RunVersion> states = said.states();
    ByteBuffer bytes = longs(1 + 2 * states.size());
    int flags = said.extra() ? EXTRA : 0;
    flags |= said.exact() ? EXACT : 0;
    flags |= said.memory().isPresent() ? REMEMBERS : 0;
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
    Optional<RunVersion> memory =
        (flags & REMEMBERS) == 0 ? Optional.empty() : Optional.of(states.remove(states.size() - 1));
    return new Statement(memory, states, (flags & EXTRA) != 0, (flags & EXACT) != 0);
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
