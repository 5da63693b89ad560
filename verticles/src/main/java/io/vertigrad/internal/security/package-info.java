/** What proves that a message or a connection is of the job, and warnings of those refused. */
package io.vertigrad.internal.security;
