/** Who takes part: admission, ranks, incarnations, heartbeats, eviction, start and end of a job. */
package io.vertigrad.internal.membership;
