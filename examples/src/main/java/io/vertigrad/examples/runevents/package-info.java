/** Hearing what a run does, from Java. */
package io.vertigrad.examples.runevents;
