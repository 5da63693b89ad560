package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;

/** The names of members in messages. */
@FunctionalInterface
interface MemberNames {

  /** Names by role and rank: {@code worker 1}. */
  MemberNames BY_ROLE = (role, rank) -> role.lower() + " " + rank;

  /** Returns the name of the member with this rank. */
  String of(Role role, int rank);

  /** Returns the names that a job uses: {@code stage 1 of replica 0} if its workers are stages. */
  static MemberNames of(JobConfig job) {
    return (role, rank) -> job.nameOf(role.lower(), rank);
  }

  /** Returns {@code worker 1}, or {@code worker 1 (incarnation 2)} from incarnation 1 on. */
  default String of(Admission admission) {
    return admission.describe(of(admission.role(), admission.rank()));
  }
}
