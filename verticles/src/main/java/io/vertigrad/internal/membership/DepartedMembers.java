package io.vertigrad.internal.membership;

import io.vertigrad.internal.membership.LeaveReason.Kind;
import io.vertigrad.job.Role;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** The members that left and why: the last holder of each rank, and the latest few in order. */
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

  /** Returns why the last holder of this rank left. */
  String farewell(Admission admission) {
    LeaveReason why = reasons.get(rank(admission));
    return why == null ? admission + " was never admitted" : why.toString();
  }

  /**
   * Returns the error of the first worker that failed, if the last worker of every rank failed. A
   * worker that was lost or stopped may still be replaced.
   */
  Optional<String> allWorkersFailed() {
    boolean othersMayReturn =
        reasons.entrySet().stream()
            .filter(left -> left.getKey().role() == Role.WORKER)
            .anyMatch(left -> left.getValue().kind() != Kind.FAILED);
    return othersMayReturn ? Optional.empty() : Optional.ofNullable(firstFailure);
  }

  /** Returns the latest departures with their reasons, for messages about missing members. */
  @Override
  public String toString() {
    return recent.isEmpty() ? "nobody left" : String.join("; ", recent);
  }

  private static Admission rank(Admission admission) {
    return new Admission(admission.role(), admission.rank(), 0);
  }
}
