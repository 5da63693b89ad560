/**
 * How frames get from one member to another: over the event bus, or over a TCP stream of their own
 * that the event bus arranges.
 */
package io.vertigrad.internal.transport;
