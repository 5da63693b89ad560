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

  /** What a raw zero of this channel becomes when it is read: black, for padding images. */
  default float black(int channel) {
    return 0;
  }

  /** Class of sample {@code index}, from 0. */
  int label(int index);
}
