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
 */
record CsvFormat(int labelColumn, int classes, float scale, List<Integer> shape, boolean header) {

  CsvFormat {
    shape = List.copyOf(shape);
  }
}
