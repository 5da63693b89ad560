package io.vertigrad.launcher.deploy;

import io.vertigrad.job.Role;
import io.vertigrad.run.RunView.Member;
import io.vertigrad.training.LocalMembers;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Lists the members of a run that were already running when this coordinator started.
 *
 * @param members each with its process, in the order in which they joined
 */
public record PresentMembers(List<Member> members) {

  private static final long LOOK_MILLIS = 50;

  /** No members: the run has just begun. */
  public static final PresentMembers NOBODY = new PresentMembers(List.of());

  /** Takes a copy of the list. */
  public PresentMembers {
    members = List.copyOf(members);
  }

  /**
   * Waits until a member has joined from every other node of the cluster. A node that leaves the
   * cluster meanwhile, because its process has ended, is not waited for.
   *
   * @param present returns the members that have joined so far
   * @param otherNodes returns how many other nodes the cluster has now
   * @return the members that have joined when the wait or the limit is over
   */
  public static PresentMembers await(
      Supplier<PresentMembers> present, IntSupplier otherNodes, long limitMillis) {
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(limitMillis);
    PresentMembers found = present.get();
    while (found.processes() < otherNodes.getAsInt() && System.nanoTime() < end) {
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(LOOK_MILLIS));
      found = present.get();
    }
    return found;
  }

  /** Returns how many members of each role are missing. */
  public LocalMembers missing(LocalMembers all) {
    return new LocalMembers(
        missing(all, Role.SERVER), missing(all, Role.WORKER), missing(all, Role.EVALUATOR));
  }

  /** Returns the number of processes that the members run in. */
  public int processes() {
    return (int) members.stream().map(Member::node).distinct().count();
  }

  /** Returns the process id of a member if its process, {@code HOST pid N}, runs on this host. */
  static OptionalLong pid(Member member, String host) {
    String prefix = host + " pid ";
    return member.node().startsWith(prefix)
        ? OptionalLong.of(Long.parseLong(member.node().substring(prefix.length())))
        : OptionalLong.empty();
  }

  /** Returns true when a member has this role and rank. */
  boolean has(Role role, int rank) {
    return members.stream().anyMatch(member -> member.role() == role && member.rank() == rank);
  }

  /** Describes the members for the user. */
  public String describe() {
    return members.isEmpty()
        ? "no member of the run is left: all start anew, from its checkpoints"
        : "%s members of the run live and take part again".formatted(members.size());
  }

  private int missing(LocalMembers all, Role role) {
    long there = members.stream().filter(member -> member.role() == role).count();
    return (int) Math.max(0, all.count(role) - there);
  }
}
