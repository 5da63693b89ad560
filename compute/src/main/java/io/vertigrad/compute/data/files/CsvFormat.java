package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DecimalNotation;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.stream.Stream;

/**
 * The layout of CSV files as the options describe it, before a file is read.
 *
 * @param targetColumns columns of the targets, in the order of a model's outputs; one for a class
 * @param targets their kind and number; 10 classes if {@code findsClasses} may change that
 * @param findsClasses whether the classes may be the words of the label column, because the option
 *     {@code classes} is absent
 * @param features columns of the inputs, in this order; empty for all columns that have no other
 *     meaning
 * @param ignored columns that are not read
 * @param categories feature columns of words, each word an input of 0 or 1
 * @param missing what to do with missing values of features
 * @param scale factor on every value
 * @param standard whether each feature is standardised by its mean and deviation
 * @param standardTargets the same for each target; false unless targets are real values
 * @param shape one sample's dimensions; empty for flat
 * @param header whether the first line holds names
 * @param separator character between two values
 * @param quote character around a value that holds the separator or a line break; doubled for
 *     itself inside
 * @param decimal how numbers are written
 */
record CsvFormat(
    List<Column> targetColumns,
    Targets targets,
    boolean findsClasses,
    List<Column> features,
    List<Column> ignored,
    List<Column> categories,
    Missing missing,
    float scale,
    boolean standard,
    boolean standardTargets,
    List<Integer> shape,
    boolean header,
    char separator,
    char quote,
    DecimalNotation decimal) {

  /**
   * A column as an option names it.
   *
   * @param name name in line 1; empty if the column is given by number
   * @param index index from 0; -1 if the column is given by name
   */
  record Column(Optional<String> name, int index) {

    static Column named(String name) {
      return new Column(Optional.of(name), -1);
    }

    static Column at(int index) {
      return new Column(Optional.empty(), index);
    }

    @Override
    public String toString() {
      return name.map(text -> '"' + text + '"').orElse(Integer.toString(index + 1));
    }
  }

  /**
   * The treatment of missing values; they are refused if there is neither a mean nor a value.
   *
   * @param mean whether the mean of the column's training rows replaces them
   * @param value number that replaces them
   */
  record Missing(boolean mean, OptionalDouble value) {

    boolean isRefused() {
      return !mean && value.isEmpty();
    }
  }

  CsvFormat {
    targetColumns = List.copyOf(targetColumns);
    features = List.copyOf(features);
    ignored = List.copyOf(ignored);
    categories = List.copyOf(categories);
    shape = List.copyOf(shape);
  }

  CsvFormat withHeader() {
    return new CsvFormat(
        targetColumns,
        targets,
        findsClasses,
        features,
        ignored,
        categories,
        missing,
        scale,
        standard,
        standardTargets,
        shape,
        true,
        separator,
        quote,
        decimal);
  }

  /**
   * Returns whether an option names a column, so that line 1 of each file determines its position.
   */
  boolean usesNames() {
    return Stream.of(targetColumns, features, ignored, categories)
        .flatMap(List::stream)
        .anyMatch(column -> column.name().isPresent());
  }

  /** Returns whether the training rows have to be read before other rows can be converted. */
  boolean isFitted() {
    return standardTargets || fitsInputs();
  }

  /** Returns whether the training rows have to be read before a row without targets can be. */
  boolean fitsInputs() {
    return usesNames() || standard || missing.mean() || !categories.isEmpty();
  }

  /** Returns the option that named the targets. */
  String option() {
    return switch (targets.kind()) {
      case CLASS -> "label";
      case LABELS -> "labels";
      case VALUES -> "targets";
    };
  }
}
