package io.vertigrad.compute.data;

import java.util.List;

/** Labelled samples with random access; immutable and safe to share between threads. */
public interface Dataset {

  /** Number of samples. */
  int size();

  /** One sample's dimensions, channels first: {@code [1, 28, 28]}. */
  List<Integer> shape();

  /** Number of classes. */
  int classes();

  /** Writes sample {@code index}, normalised, at {@code features[offset...]}. */
  void read(int index, float[] features, int offset);

  /** Class of sample {@code index}, from 0. */
  int label(int index);
}
