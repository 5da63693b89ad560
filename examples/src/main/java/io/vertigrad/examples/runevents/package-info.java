/** Receives a run's events in Java. */
package io.vertigrad.examples.runevents;
