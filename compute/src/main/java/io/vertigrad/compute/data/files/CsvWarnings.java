package io.vertigrad.compute.data.files;

import static io.vertigrad.compute.data.files.CsvReading.join;
import static io.vertigrad.compute.data.files.CsvReading.quote;

import io.vertigrad.compute.data.files.CsvSamples.Dictionary;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Looks for probable mistakes in the first samples of a training file. */
final class CsvWarnings {

  private static final int MOST_WARNINGS = 5;

  /** Share of different labels, in at least so many rows, from which on they are no classes. */
  private static final double IDENTIFIERS = 0.5;

  private static final int LEAST_ROWS_OF_IDENTIFIERS = 20;

  private final CsvSamples samples;
  private final CsvPlan plan;
  private final CsvFormat format;

  CsvWarnings(CsvSamples samples) {
    this.samples = samples;
    plan = samples.plan();
    format = plan.reading().format();
  }

  /** Returns one sentence for each. */
  List<String> find() {
    String place =
        samples.isCut()
            ? String.format(
                Locale.ROOT, "%s, first %,d rows: ", plan.reading().source(), samples.size())
            : plan.reading().source() + ": ";
    List<String> found = new ArrayList<>();
    for (int column = 0; column < plan.cellCount(); column++) {
      Optional<String> pair = samples.merged(column);
      if (pair.isPresent()) {
        String advice = plan.isStandard(column) ? "" : "; normalization standard keeps them apart";
        found.add(plan.called(column) + ": " + pair.get() + advice);
      }
    }
    constantColumns()
        .ifPresent(
            columns ->
                found.add(
                    columns
                        + " has one value only, so other values cannot be scaled later; option ignore leaves it out"));
    samples
        .words()
        .forEach(
            (feature, dictionary) -> {
              Map<String, Long> counts =
                  counts(
                      dictionary,
                      IntStream.range(0, samples.size())
                          .mapToDouble(row -> samples.value(row, feature))
                          .filter(word -> !Double.isNaN(word))
                          .mapToInt(word -> (int) word));
              Confusables.describe(counts, "rows")
                  .forEach(one -> found.add(plan.called(plan.feature(feature)) + ": " + one));
            });
    if (plan.findsClasses()) {
      Map<String, Long> counts = counts(samples.classes(), samples.labels());
      Confusables.describe(counts, "rows")
          .forEach(
              one -> found.add("%s, the label: %s".formatted(plan.called(plan.target(0)), one)));
      identifiers().ifPresent(found::add);
      spellings().ifPresent(found::add);
      samples.classes().words().stream()
          .filter(CsvSamples::isMissing)
          .findFirst()
          .ifPresent(
              word ->
                  found.add(
                      "%s, the label, is %s in line %s, which is a class of its own, not a missing value"
                          .formatted(
                              plan.called(plan.target(0)), quote(word), samples.lineOf(word))));
    }
    headerMistake().ifPresent(found::add);
    List<String> shown = new ArrayList<>();
    found.stream().limit(MOST_WARNINGS).map(place::concat).forEach(shown::add);
    if (found.size() > MOST_WARNINGS) {
      shown.add(place + "%s more warnings".formatted(found.size() - MOST_WARNINGS));
    }
    return shown;
  }

  /** Returns how often each word stands in the rows that were read. */
  private static Map<String, Long> counts(Dictionary dictionary, IntStream ids) {
    Map<String, Long> counts = new TreeMap<>();
    ids.forEach(id -> counts.merge(dictionary.words().get(id), 1L, Long::sum));
    return counts;
  }

  /** Labels that differ in nearly all rows name samples, not classes. */
  private Optional<String> identifiers() {
    int count = samples.classes().words().size();
    return samples.size() < LEAST_ROWS_OF_IDENTIFIERS || count < IDENTIFIERS * samples.size()
        ? Optional.empty()
        : Optional.of(
            String.format(
                Locale.ROOT,
                "%s, the label, has %,d values in %,d rows, which names rows rather than classes; option label names another column, and option targets columns of real values",
                plan.called(plan.target(0)),
                count,
                samples.size()));
  }

  /** Names the first standardised column with a single value, if there is one. */
  private Optional<String> constantColumns() {
    return IntStream.range(0, format.standard() && samples.size() > 1 ? plan.features() : 0)
        .filter(feature -> !samples.words().containsKey(feature))
        .filter(feature -> samples.merged(plan.feature(feature)).isEmpty())
        .filter(
            feature ->
                IntStream.range(1, samples.size())
                    .allMatch(
                        row ->
                            Double.compare(samples.value(row, feature), samples.value(0, feature))
                                == 0))
        .mapToObj(feature -> plan.called(plan.feature(feature)))
        .findFirst();
  }

  /** Finds two classes whose names are the same number, such as 1 and 1.0. */
  private Optional<String> spellings() {
    Map<Double, String> byValue = new HashMap<>();
    for (String word : samples.classes().words()) {
      double value = format.decimal().parse(word);
      String other = Double.isNaN(value) ? null : byValue.putIfAbsent(value + 0.0, word);
      if (other != null) {
        return Optional.of(
            "%s, the label, is %s in line %s and %s in line %s: two classes, because labels stay as they are written"
                .formatted(
                    plan.called(plan.target(0)),
                    quote(other),
                    samples.lineOf(other),
                    quote(word),
                    samples.lineOf(word)));
      }
    }
    return Optional.empty();
  }

  /** Compares line 1 with what option {@code header} says of it. */
  private Optional<String> headerMistake() {
    List<String> numbers =
        IntStream.range(0, plan.features())
            .map(plan::feature)
            .filter(column -> column < plan.names().size())
            .mapToObj(plan.names()::get)
            .toList();
    boolean named = format.usesNames() || numbers.isEmpty();
    if (!named && numbers.stream().allMatch(this::isNumber) && !isCounted(numbers)) {
      return Optional.of(
          "line 1 is not a sample (option header), but holds numbers: " + join(plan.names()));
    }
    boolean words =
        !format.header() && plan.findsClasses() && samples.words().size() == plan.features();
    if (words && samples.size() > 1 && firstRowStandsAlone()) {
      return Optional.of(
          "line 1 is a sample, but none of its values stands in another line; if it holds names, set option header to true");
    }
    return Optional.empty();
  }

  private boolean isNumber(String text) {
    return !Double.isNaN(format.decimal().parse(text));
  }

  /** Returns whether names are whole numbers that follow each other, such as 0, 1, 2. */
  private boolean isCounted(List<String> numbers) {
    double first = format.decimal().parse(numbers.get(0));
    return first == Math.rint(first)
        && IntStream.range(0, numbers.size())
            .allMatch(i -> format.decimal().parse(numbers.get(i)) == first + i);
  }

  private boolean firstRowStandsAlone() {
    return IntStream.range(1, samples.size())
        .allMatch(
            row ->
                samples.label(row) != samples.label(0)
                    && IntStream.range(0, plan.features())
                        .allMatch(
                            feature -> samples.value(row, feature) != samples.value(0, feature)));
  }
}
