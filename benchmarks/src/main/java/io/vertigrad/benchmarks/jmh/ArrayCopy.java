package io.vertigrad.benchmarks.jmh;

import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** The limit: one partition copied from one array to another. */
@State(Scope.Thread)
public class ArrayCopy {

  private final float[] source = new float[130_816];
  private final float[] destination = new float[130_816];

  @Benchmark
  public float[] arrayCopy() {
    System.arraycopy(source, 0, destination, 0, source.length);
    return destination;
  }
}
