package io.vertigrad.verticles.coordinator;

/**
 * The coordinator's yes to a join.
 *
 * @param role as asked for
 * @param rank from 0 within the role; a server's rank is the shard it owns
 * @param incarnation how many times that rank has been admitted before
 */
public record Admission(Role role, int rank, int incarnation) {}
