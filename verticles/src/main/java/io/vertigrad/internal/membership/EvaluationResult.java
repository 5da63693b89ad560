package io.vertigrad.internal.membership;

import io.vertigrad.internal.RecordJson.MayBeAbsent;

/**
 * The result of the final parameters on the whole test set.
 *
 * @param version lowest version of any of the partitions
 * @param highestVersion highest version of any of the partitions
 * @param samples number of samples that were tested
 * @param loss mean over the samples
 * @param accuracy in percent; NaN for a model without right or wrong answers
 * @param topK how many most probable classes {@code topAccuracy} counts; 0 if not configured
 * @param topAccuracy share of the samples whose class is among them, in percent
 * @param parametersHash hash of the parameters
 * @param metric key of the metric; empty when it is the accuracy
 */
public record EvaluationResult(
    long version,
    long highestVersion,
    int samples,
    @MayBeAbsent double loss,
    @MayBeAbsent double accuracy,
    @MayBeAbsent int topK,
    @MayBeAbsent double topAccuracy,
    String parametersHash,
    @MayBeAbsent String metric) {}
