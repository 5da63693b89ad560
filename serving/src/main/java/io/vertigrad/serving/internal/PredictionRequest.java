package io.vertigrad.serving.internal;

import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;

/**
 * Samples that wait for a forward pass.
 *
 * @param count number of samples
 * @param inputs the samples' inputs, sample after sample
 * @param version the only version that may answer; empty for any
 * @param arrivedNanos time of {@code System.nanoTime()} at which the request arrived
 * @param answer completes on the thread that computes
 */
record PredictionRequest(
    int count,
    float[] inputs,
    OptionalLong version,
    long arrivedNanos,
    CompletableFuture<PredictionAnswer> answer) {

  /**
   * The outputs for a request; all are of one set of parameters.
   *
   * @param outputs the outputs, sample after sample
   * @param version lowest version of any part of the parameters
   * @param highestVersion highest version of any part; the same unless training went on while they
   *     were read
   * @param ageMillis time since the parameters were read, in milliseconds
   */
  record PredictionAnswer(float[] outputs, long version, long highestVersion, long ageMillis) {}

  static PredictionRequest of(int count, float[] inputs, OptionalLong version) {
    return new PredictionRequest(
        count, inputs, version, System.nanoTime(), new CompletableFuture<>());
  }
}
