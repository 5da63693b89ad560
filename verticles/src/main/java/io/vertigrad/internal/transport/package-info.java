/**
 * Carries frames from one member to another: over the event bus, or over a TCP stream whose address
 * members look up over the event bus.
 */
package io.vertigrad.internal.transport;
