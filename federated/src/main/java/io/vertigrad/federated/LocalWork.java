package io.vertigrad.federated;

import io.vertigrad.compute.optimizer.OptimizerConfig;
import io.vertigrad.job.JobConfig;

/**
 * The local work behind a worker's update, as far as a server can compute it from the number of
 * samples.
 *
 * @param epochs passes of each worker over its own samples; 0 if all take the same number of steps
 * @param batch samples of a full batch
 * @param momentum of the workers' optimizer, which begins each round at 0
 */
record LocalWork(int epochs, int batch, double momentum) {

  static LocalWork of(FederatedConfig config, JobConfig job) {
    OptimizerConfig optimizer = job.optimizer();
    return new LocalWork(config.localEpochs(), job.workers().batch(), optimizer.momentum());
  }

  /**
   * Returns how often an update has the gradients of its steps, {@code |a|_1} of FedNova: {@code
   * tau} for {@code tau} steps of plain SGD, and with momentum {@code (tau - rho (1 - rho^tau) / (1
   * - rho)) / (1 - rho)}.
   *
   * @param samples number of samples behind the update
   * @return the factor; 1 if all workers take the same number of steps
   */
  double accumulation(long samples) {
    if (epochs == 0) {
      return 1;
    }
    long pass = samples / epochs;
    double steps = (double) epochs * ((pass + batch - 1) / batch);
    double rest = 1 - momentum;
    return (steps - momentum * (1 - Math.pow(momentum, steps)) / rest) / rest;
  }
}
