package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Labelled samples with random access; immutable and safe to share between threads. */
public interface Dataset {

  /**
   * Returns the number of samples.
   *
   * @return a number of samples
   */
  int size();

  /**
   * Returns the shape of one sample, channels first: {@code [1, 28, 28]}.
   *
   * @return the dimensions
   */
  List<Integer> shape();

  /**
   * Returns the number of classes, or of labels or values if the {@link #targets} are such.
   *
   * @return the number of a model's outputs
   */
  int classes();

  /**
   * Returns what a model predicts for each sample: one class, unless a data set overrides it. A
   * data set with labels or values overrides {@link #readTargets}, one with a class at each
   * position {@link #readLabels}.
   *
   * @return the targets, with as many outputs as there are {@link #classes}
   */
  default Targets targets() {
    return Targets.classes(classes());
  }

  /**
   * Returns the names of the classes for people, by class.
   *
   * @return as many as there are {@link #classes}; empty if classes are only numbers
   */
  default List<String> classNames() {
    return List.of();
  }

  /**
   * Returns the values fitted to the training samples, such as means of columns. With {@link
   * DataConfig#fitted} the provider prepares other samples in the same way. The values are saved
   * with a model.
   *
   * @return values that JSON can hold; empty if the options suffice
   */
  default Map<String, Object> fitted() {
    return Map.of();
  }

  /**
   * Returns the number of different token ids if features are ids, each a whole number from 0.
   *
   * @return 0 if features are numbers
   */
  default int tokens() {
    return 0;
  }

  /**
   * Returns the text of tokens, for people to read. A data set whose features are token ids
   * overrides it together with {@link #tokens}.
   *
   * @param ids ids of tokens, from 0
   * @return their text
   * @throws UnsupportedOperationException if features are numbers
   */
  default String text(int... ids) {
    throw new UnsupportedOperationException(getClass().getName() + " has no tokens");
  }

  /**
   * Writes sample {@code index}, normalised, at {@code features[offset...]}.
   *
   * @param index index of the sample, from 0
   * @param features has room for a sample from the offset on
   * @param offset index of the first feature
   */
  void read(int index, float[] features, int offset);

  /**
   * Returns the normalised value of a raw zero in a channel: black, for padding images.
   *
   * @param channel index of the channel, from 0
   * @return the value after normalisation
   */
  default float black(int channel) {
    return 0;
  }

  /**
   * Returns how bytes became features, for programs that feed other images to a model trained on
   * these.
   *
   * @return one rule for each channel; empty if samples were not bytes
   */
  default Optional<List<Normalisation>> normalisation() {
    return Optional.empty();
  }

  /**
   * Returns the class of sample {@code index}, from 0. A data set whose {@link #targets} are not
   * classes, or are a class at each position, need not override it.
   *
   * @param index index of the sample, from 0
   * @return the class
   * @throws UnsupportedOperationException if a sample has no class, or several
   */
  default int label(int index) {
    throw new UnsupportedOperationException(
        "sample %s of %s has no single class".formatted(index, getClass().getName()));
  }

  /**
   * Writes the classes of sample {@code index}, one for each position, at {@code
   * labels[offset...]}.
   *
   * @param index index of the sample, from 0
   * @param labels has room for a class at each position from the offset on
   * @param offset index of the first class
   */
  default void readLabels(int index, int[] labels, int offset) {
    labels[offset] = label(index);
  }

  /**
   * Writes the labels or values of sample {@code index} at {@code targets[offset...]}.
   *
   * @param index index of the sample, from 0
   * @param targets has room for all of them from the offset on
   * @param offset index of the first target
   * @throws UnsupportedOperationException if targets are classes
   */
  default void readTargets(int index, float[] targets, int offset) {
    throw new UnsupportedOperationException(
        "sample %s of %s has a class, and no other targets".formatted(index, getClass().getName()));
  }
}
