/** Proofs that a message or a connection belongs to the job, and warnings about those refused. */
package io.vertigrad.internal.security;
