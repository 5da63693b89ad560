package io.vertigrad.compute.data.files;

import de.siegmar.fastcsv.reader.CsvReader;
import de.siegmar.fastcsv.reader.FieldMismatchStrategy;
import io.vertigrad.compute.data.DataException;
import java.util.List;
import java.util.Optional;

/**
 * What a file of samples, or one line, is read for.
 *
 * @param source the file, or the quoted line, in messages
 * @param format the columns and characters that the options name
 * @param purpose which rows are read, and what of them
 * @param fitted the columns of the training; empty if this file determines them
 * @param inputs number of inputs of a model of an earlier version, of which nothing else is known;
 *     0 for others
 * @param findsClasses whether all labels are names of classes, numbers included; otherwise the
 *     first one decides if the option {@code classes} is absent
 */
record CsvReading(
    String source,
    CsvFormat format,
    Purpose purpose,
    Optional<CsvColumns> fitted,
    int inputs,
    boolean findsClasses) {

  private static final int LONGEST_QUOTE = 30;

  enum Purpose {
    /** All rows, to train or to test on. */
    SAMPLES,
    /** The first row, for the columns. */
    COLUMNS,
    /** The first rows, for mistakes in them. */
    MISTAKES,
    /** All rows of a file to predict, in which targets may be missing. */
    PREDICTION,
    /** One line to predict. */
    LINE
  }

  /** Creates the reading of a file that determines the columns. */
  static CsvReading of(String source, CsvFormat format, Purpose purpose, boolean findsClasses) {
    boolean finds = findsClasses && format.findsClasses();
    return new CsvReading(source, format, purpose, Optional.empty(), 0, finds);
  }

  /** Creates the reading of a file, or of a line, with the columns of the training. */
  static CsvReading of(String source, CsvFormat format, Purpose purpose, CsvColumns fitted) {
    boolean finds = !fitted.classes().isEmpty();
    return new CsvReading(source, format, purpose, Optional.of(fitted), 0, finds);
  }

  boolean isFitted() {
    return fitted.isPresent();
  }

  boolean isLine() {
    return purpose == Purpose.LINE;
  }

  /** Returns whether targets are not read. */
  boolean isUnlabelled() {
    return purpose == Purpose.PREDICTION || isLine();
  }

  boolean looksForMistakes() {
    return purpose == Purpose.MISTAKES;
  }

  CsvReader.CsvReaderBuilder reader() {
    return CsvReader.builder()
        .fieldSeparator(format.separator())
        .quoteCharacter(format.quote())
        .trimWhitespacesAroundQuotes(true)
        .allowUnclosedQuote(false)
        .extraFieldStrategy(FieldMismatchStrategy.IGNORE)
        .missingFieldStrategy(FieldMismatchStrategy.IGNORE)
        .detectBomHeader(true);
  }

  /**
   * Returns whether the cells of line 1 are names. Files to predict may have no such line.
   *
   * @throws DataException when a file to test on names none of the training's columns
   */
  boolean isHeader(List<String> cells) {
    if (!format.header() || isLine()) {
      return false;
    }
    List<String> trained = fitted.map(CsvColumns::names).orElse(List.of());
    if (!trained.isEmpty() && cells.stream().noneMatch(trained::contains)) {
      if (isUnlabelled()) {
        return false;
      }
      throw new DataException(
          "%s:1: holds %s, none of which is a column of the training; expected a first line that names %s"
              .formatted(source, join(cells), join(trained)));
    }
    return true;
  }

  /** Returns an exception that names the line, unless there is only one. */
  DataException wrong(long line, String message) {
    return new DataException(
        isLine() ? source + ": " + message : "%s:%s: %s".formatted(source, line, message));
  }

  static String join(List<String> names) {
    String joined = String.join(", ", names);
    return joined.length() > 300 ? joined.substring(0, 300) + "..." : joined;
  }

  /** Returns a cell for messages. */
  static String quote(String cell) {
    String shown = cell.length() > LONGEST_QUOTE ? cell.substring(0, LONGEST_QUOTE) + "..." : cell;
    return '"' + shown.strip() + '"';
  }

  /** Returns a separator for messages. */
  static String name(char separator) {
    return separator == '\t' ? "a tab" : "'" + separator + "'";
  }
}
