package io.vertigrad.collective;

/** Sums low-rank approximations of gradients: {@link PowerSgd}. */
public final class LowRankAllReduce implements AllReduce {

  private final PowerSgd compression;
  private final AllReduce factors;

  /**
   * Creates the sum for one group.
   *
   * @param compression of this worker, the same in every group
   * @param factors sums the factors
   */
  public LowRankAllReduce(PowerSgd compression, AllReduce factors) {
    this.compression = compression;
    this.factors = factors;
  }

  @Override
  public int phases() {
    return factors.phases();
  }

  @Override
  public int rounds() {
    return 2;
  }

  @Override
  public void sum(long round, float[] vector) {
    compression.sum(vector, factors, round);
  }
}
