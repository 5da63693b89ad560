package io.vertigrad.benchmarks;

import io.vertigrad.compute.Engine;
import io.vertigrad.compute.Model;
import java.util.Arrays;

/** Times the gradient steps of one model in this process and prints the median. */
final class GradientStepTimer {

  static final String RESULT = "median ms: ";

  private static final long SECONDS = 12;
  private static final int FEWEST_STEPS = 6;
  private static final int MOST_STEPS = 20_000;

  private GradientStepTimer() {}

  public static void main(String[] arguments) {
    GradientCase measured = new GradientCase(arguments[1], Integer.parseInt(arguments[2]));
    System.out.println(RESULT + median(step(arguments[0], measured)));
    System.exit(0);
  }

  private static Runnable step(String kind, GradientCase measured) {
    if (kind.equals("stock")) {
      return StockDl4j.step(measured);
    }
    Model model = Engine.named("dl4j").model(measured.config());
    var batch = measured.samples();
    return () -> model.gradient(batch);
  }

  /** The first half of the time warms the compiler up and is thrown away. */
  private static double median(Runnable step) {
    double[] millis = new double[MOST_STEPS];
    long start = System.nanoTime();
    int steps = 0;
    int warm = 0;
    while (steps < MOST_STEPS
        && (steps < FEWEST_STEPS || System.nanoTime() - start < SECONDS * 1_000_000_000L)) {
      long before = System.nanoTime();
      step.run();
      long after = System.nanoTime();
      millis[steps++] = (after - before) / 1e6;
      warm = after - start < SECONDS * 500_000_000L ? steps : warm;
    }
    double[] counted = Arrays.copyOfRange(millis, Math.min(warm, steps / 2), steps);
    Arrays.sort(counted);
    return counted[counted.length / 2];
  }
}
