package io.vertigrad.launcher.deploy;

import io.vertigrad.events.RunView.Member;
import io.vertigrad.job.Role;
import io.vertigrad.training.LocalMembers;
import java.util.List;
import java.util.OptionalLong;

/**
 * Lists the members of a run that were already running when this coordinator started.
 *
 * @param members each with its process, in the order in which they joined
 */
public record PresentMembers(List<Member> members) {

  /** No members: the run has just begun. */
  public static final PresentMembers NOBODY = new PresentMembers(List.of());

  /** Takes a copy of the list. */
  public PresentMembers {
    members = List.copyOf(members);
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
        : "%d members of the run live and take part again".formatted(members.size());
  }

  private int missing(LocalMembers all, Role role) {
    long there = members.stream().filter(member -> member.role() == role).count();
    return (int) Math.max(0, all.count(role) - there);
  }
}
