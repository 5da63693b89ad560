/**
 * Tries many settings of one job: all of a grid or a random sample, each to its end or stopped
 * early by asynchronous successive halving. Nothing here trains: a program asks {@link
 * io.vertigrad.sweep.Sweep} what to train next and reports the result.
 */
package io.vertigrad.sweep;
