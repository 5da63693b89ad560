package io.vertigrad.internal.worker;

/**
 * Where a worker's gradients are computed: by a model of its own, or by one stage of a model
 * together with its neighbours. Belongs to the training loop's thread.
 */
public interface GradientSource {

  /**
   * What is known of a gradient that was computed.
   *
   * @param epoch of its batch
   * @param samples behind it
   * @param counted how many of them are this worker's to count; another stage counts the others
   * @param loss their mean; means nothing without counted samples
   * @param correct how many of them were classified correctly, of one with several answers the
   *     share that was right; -1 where that is unknown
   * @param waitedNanos time without data to compute on
   * @param computedNanos time in the model
   * @param movedNanos time spent on tensors of other stages
   */
  record Computed(
      int epoch,
      int samples,
      int counted,
      double loss,
      double correct,
      long waitedNanos,
      long computedNanos,
      long movedNanos) {}

  /**
   * Computes the gradient of one batch at the parameters that the model holds; blocks.
   *
   * @param version of these parameters
   * @param step steps that this worker's rank has taken
   * @throws io.vertigrad.strategy.GroupChangedException when another stage has gone: let go of the
   *     step
   */
  Computed compute(long version, long step);

  /**
   * Likewise, for one who can use parts of it early; a source that knows of none says nothing.
   *
   * @param overlap is told what is final
   */
  default Computed compute(long version, long step, ParameterExchange.Overlap overlap) {
    return compute(version, step);
  }

  /**
   * Samples that were answered correctly, of answers that were.
   *
   * @param correct right answers; -1 where that is unknown
   * @param answers of a sample
   * @return right answers divided by those of a sample; -1 where that is unknown
   */
  static double share(int correct, int answers) {
    return correct < 0 || answers <= 1 ? correct : (double) correct / answers;
  }
}
