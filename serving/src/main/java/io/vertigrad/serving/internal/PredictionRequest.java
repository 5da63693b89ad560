package io.vertigrad.serving.internal;

import java.util.OptionalLong;
import java.util.function.BiConsumer;

/**
 * Samples that wait for a forward pass.
 *
 * @param count number of samples
 * @param inputs the samples' inputs, sample after sample
 * @param version the only version that may answer; empty for any
 * @param admitted whether it goes on with a request that has been answered in part; it then has a
 *     place in the queue in any case
 * @param arrivedNanos time of {@code System.nanoTime()} at which the request arrived
 * @param answer receives the answer, or why there is none; called once
 */
record PredictionRequest(
    int count,
    float[] inputs,
    OptionalLong version,
    boolean admitted,
    long arrivedNanos,
    BiConsumer<PredictionAnswer, Refusal> answer) {

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

  void fail(Refusal why) {
    answer.accept(null, why);
  }
}
