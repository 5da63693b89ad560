package io.vertigrad.internal.membership;

import io.vertigrad.compute.ParameterLayout;
import io.vertigrad.job.Role;

/**
 * Asks to take part in a job.
 *
 * @param role as what
 * @param token the same on every retry, so that a lost answer never admits twice
 * @param node where the member runs, for people
 * @param terms the settings it was started with
 * @param layout its model's parameter layout
 * @param adopts true for a worker that another one's process has started beside it
 * @param status as in heartbeats; {@code starting} when it is not ready to take part yet
 */
record JoinRequest(
    Role role,
    String token,
    String node,
    JobTerms terms,
    ParameterLayout layout,
    boolean adopts,
    MemberStatus status)
    implements ControlRequest {}
