package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.Inline;
import io.vertigrad.strategy.Membership;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import java.util.stream.IntStream;

/**
 * Chooses the state that all workers of a job without servers continue from, so that no two of them
 * continue from different steps. There is one choice for each membership, made when its last worker
 * has reported. A plain object on one thread.
 */
public final class VersionChoice {

  private final LongSupplier newRun;
  private final SortedMap<Integer, Candidates> reported = new TreeMap<>();
  private int epoch;
  private Optional<Choice> choice = Optional.empty();

  /**
   * A state that a replica can continue from: a version, and the run that reached it.
   *
   * @param version number of steps taken
   * @param run the training run that took them; 0 before the first choice
   */
  public record RunVersion(long version, long run) {

    /** The initial parameters, which follow from the seed. */
    public static final RunVersion BEGINNING = new RunVersion(0, 0);
  }

  /** The states that a group may continue from. */
  public enum Rule {
    /** Only a state that all members have. */
    COMMON_STATE,
    /** The newest state that any member holds in memory; that member sends it to all others. */
    ANY_MEMORY
  }

  /**
   * The states that one worker can continue from.
   *
   * @param from the worker
   * @param epoch of the membership whose workers are to continue together
   * @param rule the same in all members
   * @param inMemory the state that the member holds in memory; empty if it holds only the initial
   *     one
   * @param restorable states that it can restore
   * @param copies states of the rank before it that it holds in memory; the first rank holds those
   *     of the last one
   * @param beyondRanks true for a member beyond the job's configured ranks; it continues from the
   *     state that is chosen for the others
   * @param repeatable false once the member has trained in a group with an extra member, because
   *     nobody can repeat that result
   */
  public record Candidates(
      @Inline Admission from,
      int epoch,
      Rule rule,
      Optional<RunVersion> inMemory,
      List<RunVersion> restorable,
      List<RunVersion> copies,
      boolean beyondRanks,
      boolean repeatable) {

    public Candidates {
      restorable = List.copyOf(restorable);
      copies = List.copyOf(copies);
    }

    private List<RunVersion> states() {
      List<RunVersion> states = new ArrayList<>(restorable);
      inMemory.ifPresent(states::add);
      return states;
    }

    /** Returns the report with the states that the next rank holds for this one. */
    private Candidates with(List<RunVersion> held) {
      List<RunVersion> all = new ArrayList<>(restorable);
      all.addAll(held);
      return new Candidates(from, epoch, rule, inMemory, all, copies, beyondRanks, repeatable);
    }
  }

  /**
   * The state that a group continues from.
   *
   * @param from the newest state that all members have; empty when every member keeps its state
   * @param run the training run that continues from there; empty when there is no state that all
   *     members have
   */
  public record Choice(Optional<RunVersion> from, OptionalLong run) {

    /** There is no state that all members have. */
    static final Choice NONE = new Choice(Optional.empty(), OptionalLong.empty());
  }

  /**
   * Creates an object without a membership.
   *
   * @param newRun returns a number that no other run has
   */
  VersionChoice(LongSupplier newRun) {
    this.newRun = newRun;
  }

  /**
   * Takes the report of one worker. The first report of a worker counts; repeated ones get the same
   * choice.
   *
   * @param membership the one in force
   * @return empty while reports are missing, and if the worker means another membership
   */
  Optional<Choice> report(Membership membership, Candidates own) {
    if (own.epoch() != membership.epoch() || !own.from().isPartOf(membership)) {
      return Optional.empty();
    }
    if (membership.epoch() != epoch) {
      epoch = membership.epoch();
      reported.clear();
      choice = Optional.empty();
    }
    reported.putIfAbsent(own.from().rank(), own);
    if (choice.isEmpty() && reported.size() == membership.workers().size()) {
      choice = Optional.of(choose(reported.values(), newRun.getAsLong()));
    }
    return choice;
  }

  /** Returns whether the state of this membership is chosen. */
  boolean isMade(Membership membership) {
    return membership.epoch() == epoch && choice.isPresent();
  }

  /**
   * Returns the workers that have nothing to continue from, although all others have a later state
   * than the beginning in common: because of them, all begin anew.
   */
  List<Admission> withoutState() {
    List<Candidates> members = rankMembers(reported.values());
    List<Candidates> without =
        members.stream()
            .filter(one -> one.states().stream().allMatch(state -> state.version() == 0))
            .toList();
    List<List<RunVersion>> others =
        members.stream().filter(one -> !without.contains(one)).map(Candidates::states).toList();
    return newestCommon(others, RunVersion::version).filter(later -> later.version() > 0).isEmpty()
        ? List.of()
        : without.stream().map(Candidates::from).toList();
  }

  /** Returns the ranks of this membership that have not reported. */
  List<Integer> missing(Membership membership) {
    return membership.workers().stream()
        .map(Membership.Member::rank)
        .filter(rank -> membership.epoch() != epoch || !reported.containsKey(rank))
        .toList();
  }

  /**
   * Returns the newest of the states that all members have.
   *
   * @param states those of each member
   * @param version the version of a state
   */
  static <T> Optional<T> newestCommon(List<List<T>> states, ToLongFunction<T> version) {
    List<T> common = states.isEmpty() ? List.of() : new ArrayList<>(states.get(0));
    states.forEach(common::retainAll);
    return common.stream().max(Comparator.comparingLong(version));
  }

  /** Returns the reports of the job's ranks, in their order, after all have reported. */
  private static List<Candidates> rankMembers(Collection<Candidates> all) {
    List<Candidates> ranks = all.stream().filter(one -> !one.beyondRanks()).toList();
    return IntStream.range(0, ranks.size())
        .mapToObj(i -> ranks.get(i).with(ranks.get((i + 1) % ranks.size()).copies()))
        .toList();
  }

  private static Choice choose(Collection<Candidates> all, long newRun) {
    List<Candidates> rankMembers = rankMembers(all);
    boolean repeatable =
        rankMembers.size() == all.size() && rankMembers.stream().allMatch(Candidates::repeatable);
    boolean allRemember = rankMembers.stream().allMatch(one -> one.inMemory().isPresent());
    boolean anyMemory = rankMembers.stream().anyMatch(one -> one.rule() == Rule.ANY_MEMORY);
    Optional<RunVersion> furthest =
        rankMembers.stream()
            .flatMap(one -> one.inMemory().stream())
            .max(Comparator.comparingLong(RunVersion::version));
    if (furthest.isPresent() && (anyMemory || !repeatable && allRemember)) {
      return new Choice(Optional.empty(), OptionalLong.of(furthest.get().run()));
    }
    return newestCommon(rankMembers.stream().map(Candidates::states).toList(), RunVersion::version)
        .map(from -> new Choice(Optional.of(from), run(from, repeatable, newRun)))
        .orElse(Choice.NONE);
  }

  /** Repeating steps with a different set of members gives different states, so the run is new. */
  private static OptionalLong run(RunVersion from, boolean repeatable, long newRun) {
    boolean continues = repeatable && from.run() != RunVersion.BEGINNING.run();
    return OptionalLong.of(continues ? from.run() : newRun);
  }
}
