package io.vertigrad.examples.ownmodel;

import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.SplitMix64;
import java.util.List;

/**
 * Points on spiral arms within the unit circle.
 *
 * @param points x and y of each point
 * @param labels the arm of each point, from 0
 * @param classes number of arms
 */
record Spirals(float[] points, int[] labels, int classes) implements Dataset {

  static Spirals draw(int size, int arms, double turns, double noise, SplitMix64 random) {
    float[] points = new float[2 * size];
    int[] labels = new int[size];
    for (int i = 0; i < size; i++) {
      labels[i] = i % arms;
      double radius = random.between(0.1, 1);
      double angle = 2 * Math.PI * (turns * radius + (double) labels[i] / arms);
      points[2 * i] = (float) (radius * Math.cos(angle) + noise * random.normal());
      points[2 * i + 1] = (float) (radius * Math.sin(angle) + noise * random.normal());
    }
    return new Spirals(points, labels, arms);
  }

  @Override
  public int size() {
    return labels.length;
  }

  @Override
  public List<Integer> shape() {
    return List.of(2);
  }

  @Override
  public void read(int index, float[] features, int offset) {
    System.arraycopy(points, 2 * index, features, offset, 2);
  }

  @Override
  public int label(int index) {
    return labels[index];
  }
}
