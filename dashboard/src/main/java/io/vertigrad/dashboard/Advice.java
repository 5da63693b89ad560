package io.vertigrad.dashboard;

/**
 * What a rule says about a run, in sentences for people. Keys of the job file stand between
 * backticks.
 *
 * @param found what the figures show
 * @param remedy what to try; empty when there is nothing to change
 */
record Advice(String found, String remedy) {}
