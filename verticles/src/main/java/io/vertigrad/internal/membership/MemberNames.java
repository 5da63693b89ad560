package io.vertigrad.internal.membership;

import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;

/** What members are called when people are told of them. */
@FunctionalInterface
public interface MemberNames {

  /** By role and rank: {@code worker 1}. */
  MemberNames BY_ROLE = (role, rank) -> role.lower() + " " + rank;

  /** The name of whoever holds this rank. */
  String of(Role role, int rank);

  /** As a job calls them: {@code stage 1 of replica 0} where its workers are stages. */
  static MemberNames of(JobConfig job) {
    return (role, rank) -> job.nameOf(role.lower(), rank);
  }

  /** {@code worker 1}, or {@code worker 1 (incarnation 2)} from the second on. */
  default String of(Admission admission) {
    return admission.describe(of(admission.role(), admission.rank()));
  }
}
