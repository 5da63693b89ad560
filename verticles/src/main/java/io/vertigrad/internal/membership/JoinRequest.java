package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.Role;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Asks to take part in a job.
 *
 * @param role as what
 * @param token the same on every retry, so that a lost answer never admits twice
 * @param node where the member runs, for people
 * @param clusterNode what that process is called in the cluster; empty outside of one
 * @param terms the settings it was started with
 * @param layout its model's parameter layout
 * @param adopts true for a worker that another one's process has started beside it
 * @param before what it was before it was evicted, whose rank it would like to have again
 * @param holds version that a server still has in memory from then, or the last that a worker has
 *     seen of its servers; empty for anybody else
 * @param status as in heartbeats; {@code starting} when it is not ready to take part yet
 */
record JoinRequest(
    Role role,
    String token,
    String node,
    String clusterNode,
    JobTerms terms,
    ParameterLayout layout,
    boolean adopts,
    Optional<Admission> before,
    OptionalLong holds,
    MemberStatus status)
    implements ControlRequest {}
