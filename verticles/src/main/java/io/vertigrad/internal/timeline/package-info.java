/**
 * Records what members did when, as spans, and publishes them to the member that writes the
 * timeline.
 */
package io.vertigrad.internal.timeline;
