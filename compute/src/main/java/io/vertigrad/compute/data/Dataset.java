package io.vertigrad.compute.data;

import java.util.List;
import java.util.Optional;

/** Labelled samples with random access; immutable and safe to share between threads. */
public interface Dataset {

  /**
   * Number of samples.
   *
   * @return a number of samples
   */
  int size();

  /**
   * One sample's dimensions, channels first: {@code [1, 28, 28]}.
   *
   * @return the dimensions
   */
  List<Integer> shape();

  /**
   * Number of classes.
   *
   * @return a number of classes
   */
  int classes();

  /**
   * Writes sample {@code index}, normalised, at {@code features[offset...]}.
   *
   * @param index from 0
   * @param features has room for a sample from the offset on
   * @param offset where the first feature goes
   */
  void read(int index, float[] features, int offset);

  /**
   * What a raw zero of this channel becomes when it is read: black, for padding images.
   *
   * @param channel from 0
   * @return the value after normalisation
   */
  default float black(int channel) {
    return 0;
  }

  /**
   * How bytes became features, for programs that feed other images to a model trained on these.
   *
   * @return one rule for each channel; empty where samples were no bytes
   */
  default Optional<List<Normalisation>> normalisation() {
    return Optional.empty();
  }

  /**
   * Class of sample {@code index}, from 0.
   *
   * @param index from 0
   * @return the class
   */
  int label(int index);
}
