package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.internal.RecordJson.MayBeAbsent;
import io.vertigrad.job.Role;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A request to join a job.
 *
 * @param role the role that is asked for
 * @param token the same on every retry, so that a lost answer never admits twice
 * @param node where the member runs, for people
 * @param clusterNode the cluster's name for that process; empty outside of a cluster
 * @param terms the settings it was started with
 * @param layout its model's parameter layout
 * @param adopts true for a worker that another worker's process has started
 * @param before its admission before it was evicted, whose rank it prefers
 * @param holds version that a server still has in memory from then, or the last version that a
 *     worker has received from its servers; empty for other members
 * @param status as in heartbeats; {@code starting} when it is not ready yet
 */
record JoinRequest(
    Role role,
    String token,
    String node,
    @MayBeAbsent String clusterNode,
    JobTerms terms,
    ParameterLayout layout,
    boolean adopts,
    Optional<Admission> before,
    OptionalLong holds,
    @MayBeAbsent MemberStatus status)
    implements ControlRequest {}
