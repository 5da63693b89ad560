package io.vertigrad.federated;

import io.vertigrad.strategy.LocalRule;

/**
 * FedProx: pulls each local step towards the parameters of the servers, {@code g <- g + mu (x -
 * x0)}. Li et al., "Federated optimization in heterogeneous networks", 2020.
 */
final class ProximalTerm implements LocalRule {

  private final float mu;
  private final int trainable;
  private float[] center;

  /**
   * Creates the term.
   *
   * @param mu its weight
   * @param trainable number of trainable elements, which come first
   */
  ProximalTerm(double mu, int trainable) {
    this.mu = (float) mu;
    this.trainable = trainable;
  }

  @Override
  public long begin(Round round, float[] parameters) {
    center = parameters;
    return round.steps();
  }

  @Override
  public boolean adjusts() {
    return true;
  }

  @Override
  public void adjust(float[] parameters, float[] gradient) {
    for (int i = 0; i < trainable; i++) {
      gradient[i] += mu * (parameters[i] - center[i]);
    }
  }
}
