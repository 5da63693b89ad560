package io.vertigrad.launcher.deploy;

import io.vertigrad.job.Role;
import io.vertigrad.training.LocalMembers;
import java.util.List;
import java.util.OptionalLong;

/**
 * Members of a run that were there before its coordinator.
 *
 * @param members each with its process, in the order in which they joined
 */
public record PresentMembers(List<Present> members) {

  /** A run that begins. */
  public static final PresentMembers NOBODY = new PresentMembers(List.of());

  /**
   * One of them.
   *
   * @param role what it is
   * @param rank under which it was admitted
   * @param node where it runs, {@code HOST pid N}
   */
  public record Present(Role role, int rank, String node) {

    /** The number of its process, if that is one of this machine. */
    OptionalLong pid(String host) {
      String prefix = host + " pid ";
      return node.startsWith(prefix)
          ? OptionalLong.of(Long.parseLong(node.substring(prefix.length())))
          : OptionalLong.empty();
    }
  }

  /** Takes a copy of the list. */
  public PresentMembers {
    members = List.copyOf(members);
  }

  /** Those of these members that are not there. */
  public LocalMembers missing(LocalMembers all) {
    return new LocalMembers(
        missing(all, Role.SERVER), missing(all, Role.WORKER), missing(all, Role.EVALUATOR));
  }

  /** How many processes they live in. */
  public int processes() {
    return (int) members.stream().map(Present::node).distinct().count();
  }

  /** True when somebody plays this rank. */
  boolean has(Role role, int rank) {
    return members.stream().anyMatch(member -> member.role() == role && member.rank() == rank);
  }

  /** For people. */
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
