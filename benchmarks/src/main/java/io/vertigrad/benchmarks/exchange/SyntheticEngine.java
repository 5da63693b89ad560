package io.vertigrad.benchmarks.exchange;
public final class SyntheticEngine { static final String NAME = "synthetic"; }
