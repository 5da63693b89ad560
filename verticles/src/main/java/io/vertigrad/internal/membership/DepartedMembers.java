package io.vertigrad.internal.membership;

import io.vertigrad.job.Role;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** Who left a job and why: the last holder of each rank, and the last few in order. */
final class DepartedMembers {

  /** What the reason of a worker that broke down begins with; nobody expects it back. */
  static final String FAILED = "failed: ";

  private static final int RECENT = 16;

  private final Map<Admission, String> farewells = new HashMap<>();
  private final Deque<String> recent = new ArrayDeque<>();
  private String firstFailure;

  void add(MemberRecord record, String why) {
    Admission who = record.admission();
    farewells.put(rank(who), why);
    if (recent.size() == RECENT) {
      recent.removeFirst();
    }
    recent.addLast(record.describe() + ": " + why);
    if (firstFailure == null && who.role() == Role.WORKER && why.startsWith(FAILED)) {
      firstFailure = record.describe() + ": " + why.substring(FAILED.length());
    }
  }

  /** Why the last holder of this rank is no longer here. */
  String farewell(Admission admission) {
    return farewells.getOrDefault(rank(admission), admission + " was never admitted");
  }

  /**
   * What the first worker that broke down said, when the last holder of every worker's rank has
   * broken down. One that fell silent or was stopped may still be replaced.
   */
  Optional<String> allWorkersFailed() {
    boolean othersMayReturn =
        farewells.entrySet().stream()
            .filter(farewell -> farewell.getKey().role() == Role.WORKER)
            .anyMatch(farewell -> !farewell.getValue().startsWith(FAILED));
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
