package io.vertigrad.compute.optimizer;

/**
 * Half a cosine over a whole run whose length is not known yet; {@link #over} turns it into a
 * {@link CosineSchedule}.
 *
 * @param least factor at the end
 */
public record WholeRunCosine(double least) implements LearningRateSchedule {

  @Override
  public double factor(long updates, double epochs) {
    throw new IllegalStateException("the cosine has no length: call over() with that of the run");
  }

  @Override
  public boolean needsRunLength() {
    return true;
  }

  @Override
  public LearningRateSchedule over(double runEpochs) {
    return new CosineSchedule(runEpochs, least);
  }
}
