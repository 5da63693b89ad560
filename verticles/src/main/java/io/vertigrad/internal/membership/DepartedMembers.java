package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.LeaveReason.Kind;
import io.vertigrad.job.Role;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Who left a job and why: the last holder of each rank, and the last few in order. */
final class DepartedMembers {

  private static final int RECENT = 16;

  private final Map<Admission, LeaveReason> reasons = new HashMap<>();
  private final Deque<String> recent = new ArrayDeque<>();
  private String firstFailure;

  void add(MemberRecord record, LeaveReason why) {
    Admission who = record.admission();
    reasons.put(rank(who), why);
    if (recent.size() == RECENT) {
      recent.removeFirst();
    }
    recent.addLast(record.describe() + ": " + why);
    if (firstFailure == null && who.role() == Role.WORKER && why.kind() == Kind.FAILED) {
      firstFailure = record.describe() + ": " + why.detail();
    }
  }

  /** Why the last holder of this rank is no longer here. */
  String farewell(Admission admission) {
    LeaveReason why = reasons.get(rank(admission));
    return why == null ? admission + " was never admitted" : why.toString();
  }

  /**
   * What the first worker that broke down said, when the last holder of every worker's rank has
   * broken down. One that fell silent or was stopped may still be replaced.
   */
  Optional<String> allWorkersFailed() {
    boolean othersMayReturn =
        reasons.entrySet().stream()
            .filter(left -> left.getKey().role() == Role.WORKER)
            .anyMatch(left -> left.getValue().kind() != Kind.FAILED);
    return othersMayReturn ? Optional.empty() : Optional.ofNullable(firstFailure);
  }

  /** The last few with their reasons, for the message of a job that has too few members. */
  @Override
  public String toString() {
    return recent.isEmpty() ? "nobody left" : String.join("; ", recent);
  }

  private static Admission rank(Admission admission) {
    return new Admission(admission.role(), admission.rank(), 0);
  }
}
