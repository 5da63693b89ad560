package io.vertigrad.compute.data.files;

import java.util.List;

/**
 * What the lines of a CSV file mean.
 *
 * @param labelColumn column of the class, from 0
 * @param classes number of classes; labels are 0 to {@code classes - 1}
 * @param scale factor on every value
 * @param shape one sample's dimensions; empty for flat
 * @param header whether the first line holds names
 * @param separator what stands between two values
 * @param quote what stands around a value that holds the separator or a line break, and twice for
 *     itself inside
 */
record CsvFormat(
    int labelColumn,
    int classes,
    float scale,
    List<Integer> shape,
    boolean header,
    char separator,
    char quote) {

  CsvFormat {
    shape = List.copyOf(shape);
  }
}
