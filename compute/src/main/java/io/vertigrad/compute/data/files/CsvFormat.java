package io.vertigrad.compute.data.files;

import io.vertigrad.compute.Targets;
import java.util.List;

/**
 * What the lines of a CSV file mean.
 *
 * @param targetColumns columns of what is to be told, from 0, in the order of a model's outputs:
 *     one where it is a class
 * @param targets what stands in them; a class is 0 to {@code targets.outputs() - 1}
 * @param scale factor on every value
 * @param shape one sample's dimensions; empty for flat
 * @param header whether the first line holds names
 * @param separator what stands between two values
 * @param quote what stands around a value that holds the separator or a line break, and twice for
 *     itself inside
 */
record CsvFormat(
    List<Integer> targetColumns,
    Targets targets,
    float scale,
    List<Integer> shape,
    boolean header,
    char separator,
    char quote) {

  CsvFormat {
    targetColumns = List.copyOf(targetColumns);
    shape = List.copyOf(shape);
  }

  /** The option that named the columns. */
  String option() {
    return switch (targets.kind()) {
      case CLASS -> "label";
      case LABELS -> "labels";
      case VALUES -> "targets";
    };
  }
}
