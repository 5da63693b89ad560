package io.vertigrad.compute.data;

import io.vertigrad.compute.Targets;
import java.util.List;
import java.util.Map;
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
   * Number of classes; of labels or values where {@link #targets} are such.
   *
   * @return a number of outputs of a model
   */
  int classes();

  /**
   * What a model is to tell of each sample: one class, unless a data set says otherwise. One with
   * labels or values overrides {@link #readTargets}, one with a class at each position {@link
   * #readLabels}.
   *
   * @return of as many outputs as there are {@link #classes}
   */
  default Targets targets() {
    return Targets.classes(classes());
  }

  /**
   * Names of the classes for people, by class.
   *
   * @return as many as there are {@link #classes}; empty where a class is only a number
   */
  default List<String> classNames() {
    return List.of();
  }

  /**
   * What was fitted to the training samples, such as means of columns: with {@link
   * DataConfig#fitted} the provider prepares other samples in the same way. It is saved with a
   * model.
   *
   * @return values that JSON can hold; empty where the options say all
   */
  default Map<String, Object> fitted() {
    return Map.of();
  }

  /**
   * How many different ids of tokens the features are, each a whole number from 0.
   *
   * @return 0 where features are numbers
   */
  default int tokens() {
    return 0;
  }

  /**
   * The text that tokens stand for, for people to read. A data set whose features are ids of tokens
   * overrides it together with {@link #tokens}.
   *
   * @param ids of tokens, from 0
   * @return their text
   * @throws UnsupportedOperationException where features are numbers
   */
  default String text(int... ids) {
    throw new UnsupportedOperationException(getClass().getName() + " has no tokens");
  }

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
   * Class of sample {@code index}, from 0. A data set whose {@link #targets} are no classes, or a
   * class at each position, need not override it.
   *
   * @param index from 0
   * @return the class
   * @throws UnsupportedOperationException where a sample has no class, or several
   */
  default int label(int index) {
    throw new UnsupportedOperationException(
        "sample %d of %s has no single class".formatted(index, getClass().getName()));
  }

  /**
   * Writes the classes of sample {@code index}, one for each position, at {@code
   * labels[offset...]}.
   *
   * @param index from 0
   * @param labels has room for a class at each position from the offset on
   * @param offset where the first class goes
   */
  default void readLabels(int index, int[] labels, int offset) {
    labels[offset] = label(index);
  }

  /**
   * Writes the labels or values of sample {@code index} at {@code targets[offset...]}.
   *
   * @param index from 0
   * @param targets has room for all of them from the offset on
   * @param offset where the first goes
   * @throws UnsupportedOperationException where targets are classes
   */
  default void readTargets(int index, float[] targets, int offset) {
    throw new UnsupportedOperationException(
        "sample %d of %s has a class, and no other targets".formatted(index, getClass().getName()));
  }
}
