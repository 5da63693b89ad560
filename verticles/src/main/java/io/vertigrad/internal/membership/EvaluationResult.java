package io.vertigrad.internal.membership;

/**
 * What the parameters at the end of a job came to on the whole test set.
 *
 * @param version lowest version of any of their partitions
 * @param highestVersion highest version of any of their partitions
 * @param samples that were tested
 * @param loss mean over them
 * @param accuracy in percent; NaN where nothing is right or wrong
 * @param topK of how many most probable classes {@code topAccuracy} tells; 0 where nobody asked
 * @param topAccuracy share of the samples whose class is among them, in percent
 * @param parametersHash of the parameters
 * @param metric key of the metric; empty where it is the accuracy
 */
public record EvaluationResult(
    long version,
    long highestVersion,
    int samples,
    double loss,
    double accuracy,
    int topK,
    double topAccuracy,
    String parametersHash,
    String metric) {

  /** Of a model whose metric is the accuracy. */
  public EvaluationResult(
      long version,
      long highestVersion,
      int samples,
      double loss,
      double accuracy,
      int topK,
      double topAccuracy,
      String parametersHash) {
    this(version, highestVersion, samples, loss, accuracy, topK, topAccuracy, parametersHash, "");
  }
}
