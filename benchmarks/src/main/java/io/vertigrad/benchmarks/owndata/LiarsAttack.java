package io.vertigrad.benchmarks.owndata;

import io.vertigrad.benchmarks.owndata.LiarsCase.Lie;
import io.vertigrad.compute.data.SplitMix64;
import java.util.Arrays;
import java.util.function.IntUnaryOperator;

/** What the liars of a simulation send, given what the honest workers send. */
final class LiarsAttack {

  private static final double INNER_PRODUCT_SCALE = 0.1;

  /** The quantile of (n - f - s) / (n - f) = 12/20, with s = n/2 + 1 - f = 8 supporters. */
  private static final double A_LITTLE_DEVIATIONS = 0.2533;

  private final Lie lie;
  private final int honest;
  private int mimicked = -1;

  LiarsAttack(Lie lie, int honest) {
    this.lie = lie;
    this.honest = honest;
  }

  static IntUnaryOperator flippedLabels(int classes) {
    return label -> classes - 1 - label;
  }

  /** Returns whether a liar needs an update of its own samples. */
  boolean needsOwn() {
    return lie == Lie.BIT_FLIP || lie == Lie.LABEL_FLIP;
  }

  /**
   * Returns what all workers send in a round.
   *
   * @param own what each would send if it were honest
   * @param round number of the round, from 0
   */
  float[][] updates(float[][] own, int round) {
    float[][] sent = own.clone();
    if (lie == Lie.NONE || lie == Lie.LABEL_FLIP) {
      return sent;
    }
    float[][] honestOnes = Arrays.copyOf(own, honest);
    for (int rank = honest; rank < own.length; rank++) {
      sent[rank] =
          switch (lie) {
            case BIT_FLIP -> scaled(own[rank], -1);
            case MIMIC -> own[mimicked(honestOnes)];
            case INNER_PRODUCT -> scaled(mean(honestOnes), -INNER_PRODUCT_SCALE);
            case A_LITTLE -> aLittle(honestOnes);
            default -> own[rank];
          };
    }
    return sent;
  }

  /**
   * Chooses in the first round whom to mimic: who lies furthest in the direction of most spread.
   */
  private int mimicked(float[][] updates) {
    if (mimicked < 0) {
      float[] mean = mean(updates);
      double[] direction = new double[mean.length];
      SplitMix64 random = new SplitMix64(0);
      Arrays.setAll(direction, i -> random.normal());
      double[] spread = new double[mean.length];
      for (float[] update : updates) {
        double along = 0;
        for (int i = 0; i < mean.length; i++) {
          along += (update[i] - mean[i]) * direction[i];
        }
        for (int i = 0; i < mean.length; i++) {
          spread[i] += along * (update[i] - mean[i]);
        }
      }
      double most = Double.NEGATIVE_INFINITY;
      for (int rank = 0; rank < updates.length; rank++) {
        double along = 0;
        for (int i = 0; i < spread.length; i++) {
          along += updates[rank][i] * spread[i];
        }
        if (along > most) {
          most = along;
          mimicked = rank;
        }
      }
    }
    return mimicked;
  }

  private static float[] aLittle(float[][] updates) {
    float[] result = mean(updates);
    for (int i = 0; i < result.length; i++) {
      double squares = 0;
      for (float[] update : updates) {
        squares += ((double) update[i] - result[i]) * ((double) update[i] - result[i]);
      }
      result[i] -= (float) (A_LITTLE_DEVIATIONS * Math.sqrt(squares / (updates.length - 1)));
    }
    return result;
  }

  private static float[] mean(float[][] updates) {
    float[] mean = new float[updates[0].length];
    for (int i = 0; i < mean.length; i++) {
      double sum = 0;
      for (float[] update : updates) {
        sum += update[i];
      }
      mean[i] = (float) (sum / updates.length);
    }
    return mean;
  }

  private static float[] scaled(float[] update, double factor) {
    float[] scaled = new float[update.length];
    for (int i = 0; i < scaled.length; i++) {
      scaled[i] = (float) (factor * update[i]);
    }
    return scaled;
  }
}
