package io.vertigrad.compute.data;

import java.util.List;
import java.util.Map;

/**
 * Turns samples that programs send, with values by the names of their fields, into a model's
 * inputs. Immutable; any thread may use it.
 */
public interface FieldReader {

  /**
   * One value of a sample.
   *
   * @param name name that senders use
   * @param text true if values are words; false if they are numbers
   */
  record Field(String name, boolean text) {}

  /**
   * Returns the fields, in the order in which an array of values has them.
   *
   * @return at least one field
   */
  List<Field> fields();

  /**
   * Writes one sample at {@code features[offset...]}, prepared as in training. A field that is
   * absent or null is a missing value.
   *
   * @param sample values by the names of fields: numbers, texts, booleans or null
   * @param features has room for a sample from the offset on
   * @param offset index of the first feature
   * @throws DataException naming the field, what was found and what was expected
   */
  void read(Map<String, ?> sample, float[] features, int offset);
}
