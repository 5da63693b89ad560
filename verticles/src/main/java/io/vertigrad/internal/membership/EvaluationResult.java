package io.vertigrad.internal.membership;

/**
 * What the parameters at the end of a job came to on the whole test set.
 *
 * @param version lowest version of any of their partitions
 * @param highestVersion highest version of any of their partitions
 * @param samples that were tested
 * @param loss mean over them
 * @param accuracy in percent
 * @param topK of how many most probable classes {@code topAccuracy} tells; 0 where nobody asked
 * @param topAccuracy share of the samples whose class is among them, in percent
 * @param parametersHash of the parameters
 */
public record EvaluationResult(
    long version,
    long highestVersion,
    int samples,
    double loss,
    double accuracy,
    int topK,
    double topAccuracy,
    String parametersHash) {}
