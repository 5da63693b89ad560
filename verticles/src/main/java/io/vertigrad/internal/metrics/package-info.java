/** What a run tells the world: typed training events, published on the bus and as a flow. */
package io.vertigrad.internal.metrics;
