/**
 * Members of a job: admission, ranks, incarnations, heartbeats, eviction, start and end of the job.
 */
package io.vertigrad.internal.membership;
