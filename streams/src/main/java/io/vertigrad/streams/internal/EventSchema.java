package io.vertigrad.streams.internal;

import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.settings.Settings;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The fields of an event: how they become the features of a sample and its label. Immutable.
 *
 * @param features the features, in the order of a sample
 * @param label field of the label
 * @param classes names of the classes; empty for a real value
 * @param lags number of earlier labels that a sample has as features
 * @param normalized whether numbers are normalised by their running mean and deviation
 * @param decimal how numbers are written in texts
 */
record EventSchema(
    List<Feature> features,
    String label,
    List<String> classes,
    int lags,
    boolean normalized,
    DecimalNotation decimal) {

  private static final Logger LOG = LoggerFactory.getLogger(EventSchema.class);

  /** Whole numbers up to this one are float32 without rounding. */
  private static final int EXACT_WHOLE = 1 << 24;

  /** What helps against rounding. */
  static final String ORIGIN_ADVICE =
      "give a feature an \"origin\" near its values, which is subtracted first, and send a label as a difference";

  /** Fields whose rounding has been logged in this JVM. */
  private static final Set<String> ROUNDED = ConcurrentHashMap.newKeySet();

  private static final int MOST_FEATURES = 100_000;
  private static final int MOST_LAGS = 1_000;
  private static final int MOST_VALUES = 100_000;
  private static final String FEATURES = "features";
  private static final String MISSING = "missing";

  /** The value of a feature that an event lacks. */
  enum Missing {
    /** The event is refused. */
    REFUSE,
    /** A stated number. */
    NUMBER,
    /** The running mean of the field. */
    MEAN,
    /** None of the categories. */
    NONE
  }

  /**
   * One field that is a feature.
   *
   * @param values index of each listed category; empty for numbers and hashed categories
   * @param buckets number of categories that a text is hashed into; 0 for others
   * @param origin subtracted from a number while it is a double; 0 for others
   * @param missing what takes the place of a missing value
   * @param substitute the stated number, less the origin
   */
  record Feature(
      String field,
      Map<String, Integer> values,
      int buckets,
      double origin,
      Missing missing,
      float substitute) {

    boolean number() {
      return values.isEmpty() && buckets == 0;
    }

    int width() {
      return number() ? 1 : buckets > 0 ? buckets : values.size();
    }

    static Feature read(Settings section) {
      String field = section.requiredString("field");
      String type = section.choice("type", "number", "number", "category");
      if (type.equals("number")) {
        boolean mean = "mean".equals(section.toJson().getValue(MISSING));
        boolean stated = section.has(MISSING);
        double origin = section.number("origin", 0, -Float.MAX_VALUE, Float.MAX_VALUE);
        float substitute =
            stated && !mean
                ? (float) (section.number(MISSING, 0, -Float.MAX_VALUE, Float.MAX_VALUE) - origin)
                : 0;
        section.refuseUnknown();
        Missing missing = mean ? Missing.MEAN : stated ? Missing.NUMBER : Missing.REFUSE;
        return new Feature(field, Map.of(), 0, origin, missing, substitute);
      }
      int buckets = section.integer("buckets", 0, 1, MOST_VALUES);
      List<String> listed = section.textList("values", List.of());
      if ((buckets == 0) == listed.isEmpty()) {
        throw section.refuse(
            buckets == 0 ? "values" : "buckets",
            buckets == 0
                ? "is missing, expected the list of the categories, or buckets: the number that they are hashed into"
                : "is given beside values, expected one of them");
      }
      Map<String, Integer> values = new HashMap<>();
      for (String value : listed) {
        if (values.put(value, values.size()) != null) {
          throw section.refuse("values", "has \"%s\" twice, expected it once".formatted(value));
        }
      }
      String missing = section.choice(MISSING, "refuse", "refuse", "none");
      section.refuseUnknown();
      return new Feature(
          field, values, buckets, 0, missing.equals("none") ? Missing.NONE : Missing.REFUSE, 0);
    }

    /** Writes the feature's elements, which are 0. */
    void write(Object value, DecimalNotation decimal, float[] into, int offset) {
      if (number()) {
        into[offset] =
            value == null ? inPlace() : EventSchema.number(field, value, origin, decimal);
        return;
      }
      if (value == null) {
        if (missing == Missing.REFUSE) {
          throw lacks();
        }
        return;
      }
      String text = EventSchema.text(value);
      if (buckets > 0) {
        into[offset + Math.floorMod(hash(text), buckets)] = 1;
        return;
      }
      Integer index = values.get(text);
      if (index != null) {
        into[offset + index] = 1;
      } else if (missing == Missing.REFUSE) {
        throw new DataException(
            "field \"%s\" is \"%s\", expected one of %s; \"missing\": \"none\" accepts others as none of them"
                .formatted(field, text, some(values)));
      }
    }

    private float inPlace() {
      if (missing == Missing.REFUSE) {
        throw lacks();
      }
      return missing == Missing.MEAN ? Float.NaN : substitute;
    }

    private DataException lacks() {
      return new DataException(
          "field \"%s\" is missing, expected %s; \"missing\" in its schema can name what takes its place"
              .formatted(field, number() ? "a number" : "a category"));
    }

    /** Returns the FNV-1a hash, which is the same everywhere. */
    private static int hash(String text) {
      int hash = 0x811c9dc5;
      for (byte each : text.getBytes(StandardCharsets.UTF_8)) {
        hash = (hash ^ (each & 0xff)) * 0x01000193;
      }
      return hash;
    }
  }

  /** Copies the lists. */
  EventSchema {
    features = List.copyOf(features);
    classes = List.copyOf(classes);
  }

  /** Reads the section {@code data.schema}. */
  static EventSchema read(DataConfig config) {
    Settings data = config.settings();
    Settings schema = data.section("schema");
    String origin = config.origin().isEmpty() ? "data set 'stream'" : config.origin();
    if (!(schema.toJson().getValue(FEATURES) instanceof JsonArray listed) || listed.isEmpty()) {
      throw schema.refuse(
          FEATURES, "is missing, expected a list such as [ { \"field\": \"demand\" } ]");
    }
    schema.has(FEATURES);
    List<Feature> features = new ArrayList<>();
    for (int i = 0; i < listed.size(); i++) {
      if (!(listed.getValue(i) instanceof JsonObject feature)) {
        throw schema.refuse(
            FEATURES,
            "has %s at position %s, expected { \"field\": \"...\" }"
                .formatted(listed.getValue(i), i));
      }
      features.add(
          Feature.read(Settings.at(origin, "data.schema.features[%s]".formatted(i), feature)));
    }
    Settings label = schema.section("label");
    String field = label.requiredString("field");
    String type =
        label.choice("type", label.has("classes") ? "class" : "number", "class", "number");
    List<String> classes = classes(label);
    if (type.equals("class") && classes.size() < 2) {
      throw label.refuse(
          "classes", "has %s classes, expected at least 2".formatted(classes.size()));
    }
    label.refuseUnknown();
    int lags = schema.integer("lags", 0, 0, MOST_LAGS);
    boolean normalized =
        schema.choice("normalization", "running", "running", "raw").equals("running");
    schema.refuseUnknown();
    DecimalNotation decimal = DecimalNotation.of(data);
    EventSchema read = new EventSchema(features, field, classes, lags, normalized, decimal);
    if (read.width() > MOST_FEATURES) {
      throw schema.refuse(
          FEATURES,
          String.format(
              Locale.ROOT,
              "make samples of %,d numbers, expected at most %,d: hash categories into fewer buckets",
              read.width(),
              MOST_FEATURES));
    }
    for (Feature feature : features) {
      if (feature.missing() == Missing.MEAN && !normalized) {
        throw schema.refuse(
            "normalization",
            "is raw, expected running: field \"%s\" takes its running mean where it is missing"
                .formatted(feature.field()));
      }
    }
    return read;
  }

  private static List<String> classes(Settings label) {
    if (label.toJson().getValue("classes") instanceof Number) {
      int count = label.integer("classes", 2, 2, MOST_VALUES);
      List<String> names = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        names.add(String.valueOf(i));
      }
      return names;
    }
    return label.textList("classes", List.of());
  }

  /** Returns the fields to read from an event; the label's is the last one. */
  List<String> fields() {
    List<String> fields = new ArrayList<>(features.stream().map(Feature::field).toList());
    fields.add(label);
    return fields;
  }

  /** Returns true if labels are real values. */
  boolean values() {
    return classes.isEmpty();
  }

  Targets targets() {
    return values() ? Targets.values(1) : Targets.classes(classes.size());
  }

  /** Returns the number of features of a sample. */
  int width() {
    return own() + lags * lagWidth();
  }

  /** Returns the indices of the features that are normalised. */
  int[] numbers() {
    List<Integer> found = new ArrayList<>();
    int at = 0;
    for (Feature feature : features) {
      if (feature.number()) {
        found.add(at);
      }
      at += feature.width();
    }
    for (int lag = 0; values() && lag < lags; lag++) {
      found.add(at + lag);
    }
    return normalized ? found.stream().mapToInt(Integer::intValue).toArray() : new int[0];
  }

  private int own() {
    return features.stream().mapToInt(Feature::width).sum();
  }

  private int lagWidth() {
    return values() ? 1 : classes.size();
  }

  /**
   * Writes the features of an event.
   *
   * @param values of the {@linkplain #fields fields}
   * @param earlier earlier labels, the newest first; NaN where none is known
   * @param into has zeros for a sample from the offset on
   */
  void write(Object[] values, float[] earlier, float[] into, int offset) {
    int at = offset;
    for (int i = 0; i < features.size(); i++) {
      features.get(i).write(values[i], decimal, into, at);
      at += features.get(i).width();
    }
    for (int lag = 0; lag < lags; lag++) {
      float known = lag < earlier.length ? earlier[lag] : Float.NaN;
      if (values()) {
        into[at] = normalized || !Float.isNaN(known) ? known : 0;
      } else if (!Float.isNaN(known)) {
        into[at + (int) known] = 1;
      }
      at += lagWidth();
    }
  }

  /** Returns the class of an event, or its value. */
  float label(Object value) {
    if (value == null) {
      throw new DataException(
          "field \"%s\" is missing, expected %s".formatted(label, labelExpected()));
    }
    if (values()) {
      return number(label, value, 0, decimal);
    }
    int index = classes.indexOf(text(value));
    if (index < 0) {
      throw new DataException(
          "field \"%s\" is \"%s\", expected %s".formatted(label, text(value), labelExpected()));
    }
    return index;
  }

  private String labelExpected() {
    return values() ? "a number" : "one of " + String.join(", ", classes);
  }

  private static float number(String field, Object value, double origin, DecimalNotation decimal) {
    double exact = exact(value, decimal) - origin;
    float number =
        origin == 0 && value instanceof Number found ? found.floatValue() : (float) exact;
    if (Float.isFinite(number)) {
      if (number != exact && Math.abs(number) >= EXACT_WHOLE && ROUNDED.add(field)) {
        LOG.warn(
            "field \"{}\": {}{} becomes {}: numbers are float32, so values close to it may be the same; {}",
            field,
            value,
            origin == 0 ? "" : " less " + origin,
            BigDecimal.valueOf(number).toPlainString(),
            ORIGIN_ADVICE);
      }
      return number;
    }
    throw new DataException(
        "field \"%s\" is \"%s\", expected %s"
            .formatted(field, value, expected(String.valueOf(value), decimal)));
  }

  /** Returns a number as a double; NaN if the text of a value is none. */
  static double exact(Object value, DecimalNotation decimal) {
    return value instanceof Number found
        ? found.doubleValue()
        : value instanceof Boolean flag ? (flag ? 1 : 0) : decimal.parse(String.valueOf(value));
  }

  /** Returns what is expected instead of a text, as far as the text shows what is wrong. */
  private static String expected(String text, DecimalNotation decimal) {
    DecimalNotation other =
        decimal == DecimalNotation.POINT ? DecimalNotation.COMMA : DecimalNotation.POINT;
    if (decimal.matches(text)) {
      return "a number in the range of float32";
    }
    return other.matches(text)
        ? "a finite number; if '%s' is its decimal mark, set data.decimal to \"%s\""
            .formatted(other.mark(), other.mark())
        : "a finite number";
  }

  /** Returns a value as the text of a category: a whole number has no fraction. */
  private static String text(Object value) {
    return value instanceof Double number && number == Math.rint(number) && Math.abs(number) < 1e15
        ? String.valueOf((long) (double) number)
        : String.valueOf(value);
  }

  private static String some(Map<String, Integer> values) {
    List<String> names = values.keySet().stream().sorted().limit(10).toList();
    return String.join(", ", names) + (values.size() > names.size() ? ", ..." : "");
  }

  /** Returns the fields of an event that a model is asked about: its features, then the lags. */
  List<FieldReader.Field> asked() {
    List<FieldReader.Field> asked = new ArrayList<>();
    features.forEach(each -> asked.add(new FieldReader.Field(each.field(), !each.number())));
    for (int lag = 1; lag <= lags; lag++) {
      asked.add(new FieldReader.Field("lag" + lag, !values()));
    }
    return asked;
  }

  /**
   * Writes the features of an event that a model is asked about.
   *
   * @param values of the {@linkplain #asked asked} fields
   * @param into has zeros for a sample from the offset on
   */
  void writeAsked(Object[] values, float[] into, int offset) {
    float[] earlier = new float[lags];
    for (int lag = 0; lag < lags; lag++) {
      Object given = values[features.size() + lag];
      earlier[lag] = given == null ? Float.NaN : label(given);
    }
    write(values, earlier, into, offset);
  }
}
