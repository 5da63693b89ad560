package io.vertigrad.streams.internal;

import io.vertigrad.compute.Model;
import io.vertigrad.compute.Targets;
import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DecimalNotation;
import io.vertigrad.compute.data.FieldReader;
import io.vertigrad.compute.data.MergedValues;
import io.vertigrad.compute.data.TargetColumn;
import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventSource;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.TreeMap;

/**
 * The data set {@code stream}: events of a source, each tested before it is trained on.
 *
 * <p>Options: {@code source} with its {@code kind}, {@code schema}, {@code window} (events of the
 * sliding window; 1000), {@code onBadEvent}, {@code deadLetter} and {@code skip}.
 */
public final class StreamProvider implements DatasetProvider {

  /** Share of a batch in the running mean and deviation. */
  private static final float RATE = 0.002f;

  /** Learning rate of an update with one event. */
  private static final double RATE_OF_ONE = 0.002;

  private static final double MOST_RATE = 0.02;

  /** Workers of a job file that names no number. */
  private static final int WORKERS = 2;

  /** Strategies that make one update of the batches of all workers. */
  private static final Set<String> MEAN_OF_ALL = Set.of("sync", "allreduce");

  private static final int LINES_OF_WARNINGS = 10_000;
  private static final int WINDOW = 1_000;
  private static final int MOST_WINDOW = 10_000_000;

  /** The options of a job file. */
  private record Options(
      EventSchema schema, int window, BadEvents.Config badEvents, EventSource source) {}

  @Override
  public String name() {
    return "stream";
  }

  /**
   * Updates after each event, because a stream is tested while the model still learns. Where the
   * job file names larger batches, the rate grows with the square root of the events of an update,
   * as suits Adam: their mean varies less, and there are fewer updates.
   */
  @Override
  public JsonObject defaults(JsonObject file) {
    JsonObject workers = section(file, "workers");
    int count = whole(workers, "count", WORKERS);
    JsonObject ownWorkers = new JsonObject();
    int all = whole(workers, "totalBatch", 0);
    if (all == 0) {
      ownWorkers.put("batch", 1);
      all = count * whole(workers, "batch", 1);
    }
    Object strategy = section(file, "strategy").getValue("name");
    boolean together = strategy == null || MEAN_OF_ALL.contains(strategy);
    double events = together ? all : (double) all / Math.max(1, count);
    double rate = Math.min(MOST_RATE, RATE_OF_ONE * Math.sqrt(Math.max(1, events)));
    return new JsonObject()
        .put(
            "optimizer",
            new JsonObject().put("name", "adam").put("learningRate", Math.rint(rate * 1e4) / 1e4))
        .put("workers", ownWorkers)
        .put("evaluator", new JsonObject().put("count", 0));
  }

  private static JsonObject section(JsonObject file, String key) {
    return file.getValue(key) instanceof JsonObject given ? given : new JsonObject();
  }

  private static int whole(JsonObject section, String key, int otherwise) {
    return section.getValue(key) instanceof Integer given && given > 0 ? given : otherwise;
  }

  @Override
  public void scopes(Settings data) {
    data.with(KeyTrait.AGREED, KeyTrait.CHANGEABLE).has("onBadEvent");
    if (BadEvents.isTopic(data.toJson().getValue("deadLetter"))) {
      data.with(KeyTrait.AGREED, KeyTrait.CHANGEABLE).has("deadLetter");
    } else {
      data.with(KeyTrait.LOCAL, KeyTrait.CHANGEABLE).has("deadLetter");
    }
    Settings source = data.section("source");
    if (source.has("kind")) {
      EventSource found = sources().get(String.valueOf(source.toJson().getValue("kind")));
      if (found != null) {
        found.scopes(source);
      }
    }
  }

  @Override
  public Dataset open(DataConfig config, Split split) {
    Options options = options(config);
    return new StreamedEvents(
        options.schema(),
        options.window(),
        options.badEvents(),
        options.source(),
        () -> config.settings().section("source"),
        split == Split.TEST);
  }

  @Override
  public void check(DataConfig config, Split split) {
    Options options = options(config);
    if (split == Split.TRAIN) {
      options.badEvents().check(config.settings());
      options.source().check(config.settings().section("source"));
    }
  }

  /** Looks for distinct numbers that become one, in the first lines of a file. */
  @Override
  public List<String> warnings(DataConfig config) {
    Options options = options(config);
    Settings source = config.settings().section("source");
    if (!(options.source() instanceof FileSource)) {
      return List.of();
    }
    EventSchema schema = options.schema();
    Map<String, MergedValues> numbers = new LinkedHashMap<>();
    Map<String, Double> origins = new HashMap<>();
    schema.features().stream()
        .filter(EventSchema.Feature::number)
        .forEach(
            feature -> {
              numbers.put(feature.field(), new MergedValues(false));
              origins.put(feature.field(), feature.origin());
            });
    if (schema.values()) {
      numbers.put(schema.label(), new MergedValues(false));
    }
    List<String> fields = List.copyOf(numbers.keySet());
    for (Object[] event : FileSource.first(source, fields, LINES_OF_WARNINGS)) {
      for (int i = 0; i < event.length; i++) {
        double value =
            event[i] == null ? Double.NaN : EventSchema.exact(event[i], schema.decimal());
        if (Double.isFinite(value) && !(event[i] instanceof Boolean)) {
          String text = String.valueOf(event[i]).replace(schema.decimal().mark(), '.');
          String field = fields.get(i);
          numbers.get(field).add(text, value - origins.getOrDefault(field, 0.0));
        }
      }
    }
    List<String> warnings = new ArrayList<>();
    numbers.forEach(
        (field, values) ->
            values
                .describe()
                .ifPresent(
                    pair ->
                        warnings.add(
                            "%s: field \"%s\": %s; %s"
                                .formatted(
                                    source.requiredString("path"),
                                    field,
                                    pair,
                                    EventSchema.ORIGIN_ADVICE))));
    return warnings;
  }

  @Override
  public OptionalLong length(DataConfig config) {
    return options(config).source().length(config.settings().section("source"));
  }

  @Override
  public long samples(DataConfig config, Split split) {
    if (split == Split.TEST) {
      return 0;
    }
    return length(config)
        .orElseThrow(
            () ->
                new DataException(
                    "%s: the stream has no end, so epochs and schedules in epochs cannot be counted; expected a length in steps, or \"unbounded\""
                        .formatted(
                            config.origin().isEmpty() ? "data set 'stream'" : config.origin())));
  }

  @Override
  public Optional<Targets.Kind> targets(DataConfig config) {
    return Optional.of(EventSchema.read(config).targets().kind());
  }

  @Override
  public List<String> classNames(DataConfig config) {
    return EventSchema.read(config).classes();
  }

  @Override
  public List<TargetColumn> targetColumns(DataConfig config) {
    EventSchema schema = EventSchema.read(config);
    // The model itself answers in the unit of the label.
    return schema.values() ? List.of(new TargetColumn(schema.label(), 0, 1)) : List.of();
  }

  @Override
  public Model adapt(DataConfig config, Model model) {
    EventSchema schema = EventSchema.read(config);
    List<?> saved =
        config.fitted().get(NormalizedModel.FITTED) instanceof List<?> list ? list : List.of();
    return new NormalizedModel(
        model, schema.numbers(), schema.values() && schema.normalized() ? 1 : 0, RATE, saved);
  }

  @Override
  public Optional<FieldReader> fields(DataConfig config, List<Integer> shape) {
    EventSchema schema = EventSchema.read(config);
    List<FieldReader.Field> fields = schema.asked();
    return Optional.of(new Fields(schema, fields, new HashSet<>(names(fields))));
  }

  /**
   * Reads events that programs send; earlier labels are fields of their own.
   *
   * @param fields of an event, in the order of a sample
   * @param known names of the fields
   */
  private record Fields(EventSchema schema, List<Field> fields, Set<String> known)
      implements FieldReader {

    @Override
    public void read(Map<String, ?> sample, float[] features, int offset) {
      for (String given : sample.keySet()) {
        if (!known.contains(given)) {
          throw new DataException(
              "field \"%s\" is not known, expected some of %s"
                  .formatted(given, String.join(", ", names(fields))));
        }
      }
      Object[] values = fields.stream().map(field -> sample.get(field.name())).toArray();
      Arrays.fill(features, offset, offset + schema.width(), 0);
      schema.writeAsked(values, features, offset);
    }
  }

  private static List<String> names(List<FieldReader.Field> fields) {
    return fields.stream().map(FieldReader.Field::name).toList();
  }

  @Override
  public Dataset unlabelled(DataConfig config, String line, List<Integer> shape) {
    EventSchema schema = EventSchema.read(config);
    List<String> fields = names(schema.asked());
    byte[] bytes = line.getBytes(StandardCharsets.UTF_8);
    try {
      LineFormat format =
          line.stripLeading().startsWith("{")
              ? LineFormat.json(fields)
              : LineFormat.csv(fields, fields, separator(config));
      Object[] values = format.read(bytes, 0, bytes.length);
      schema.writeAsked(values, new float[schema.width()], 0);
      return new Asked(schema, List.<Object[]>of(values));
    } catch (DataException e) {
      throw new DataException("%s: %s".formatted(line, e.getMessage()), e);
    }
  }

  @Override
  public Dataset unlabelled(DataConfig config, Path file, List<Integer> shape) {
    EventSchema schema = EventSchema.read(config);
    List<String> fields = names(schema.asked());
    List<Object[]> samples = new ArrayList<>();
    int number = 0;
    try {
      List<String> lines = Files.readAllLines(file);
      LineFormat format = null;
      for (String line : lines) {
        number++;
        if (line.isBlank()) {
          continue;
        }
        String unmarked = format == null && line.startsWith("\uFEFF") ? line.substring(1) : line;
        byte[] bytes = unmarked.getBytes(StandardCharsets.UTF_8);
        if (format == null) {
          boolean json = unmarked.stripLeading().startsWith("{");
          char separator = separator(config);
          List<String> columns =
              json ? List.of() : LineFormat.split(bytes, 0, bytes.length, (byte) separator);
          if (json) {
            format = LineFormat.json(fields);
          } else {
            List<String> given = fields.stream().filter(columns::contains).toList();
            if (given.isEmpty()) {
              throw new DataException(
                  "holds %s, none of which is a field, expected a first line that names %s"
                      .formatted(String.join(", ", columns), String.join(", ", fields)));
            }
            LineFormat csv = LineFormat.csv(columns, given, separator);
            format = (all, from, to) -> spread(csv.read(all, from, to), given, fields);
            continue;
          }
        }
        Object[] values = format.read(bytes, 0, bytes.length);
        schema.writeAsked(values, new float[schema.width()], 0);
        samples.add(values);
      }
    } catch (IOException e) {
      throw new DataException("%s: cannot be read: %s".formatted(file, e), e);
    } catch (DataException e) {
      throw new DataException("%s: line %s: %s".formatted(file, number, e.getMessage()), e);
    }
    return new Asked(schema, samples);
  }

  /**
   * Returns what is between two values of a line that a model is asked about: the same as in the
   * source, if that has lines of values.
   */
  private static char separator(DataConfig config) {
    JsonObject source = config.settings().section("source").toJson();
    if (source.getValue("separator") instanceof String text && text.length() == 1) {
      return text.charAt(0);
    }
    boolean hasLines =
        source.getValue("format") instanceof String format
            ? format.equals(FileSource.CSV)
            : source.getValue("path") instanceof String path
                && path.toLowerCase(Locale.ROOT).endsWith(".csv");
    return !hasLines && DecimalNotation.of(config.settings()) == DecimalNotation.COMMA ? ';' : ',';
  }

  private static Object[] spread(Object[] values, List<String> given, List<String> fields) {
    Object[] all = new Object[fields.size()];
    for (int i = 0; i < values.length; i++) {
      all[fields.indexOf(given.get(i))] = values[i];
    }
    return all;
  }

  /** Events that a model is asked about. */
  private record Asked(EventSchema schema, List<Object[]> samples) implements EventDataset {

    @Override
    public int size() {
      return samples.size();
    }

    @Override
    public void read(int index, float[] features, int offset) {
      schema.writeAsked(samples.get(index), features, offset);
    }
  }

  private static Map<String, EventSource> sources() {
    Map<String, EventSource> known = new TreeMap<>();
    ServiceLoader.load(EventSource.class, StreamProvider.class.getClassLoader())
        .forEach(found -> known.put(found.kind(), found));
    return known;
  }

  private static Options options(DataConfig config) {
    Settings data = config.settings();
    data.section("schema");
    Settings source = data.section("source");
    int window = data.integer("window", WINDOW, 1, MOST_WINDOW);
    BadEvents.Config badEvents = BadEvents.Config.read(data);
    DecimalNotation decimal = DecimalNotation.of(data);
    data.refuseUnknown();
    if (decimal.mark() == separator(config)) {
      throw data.refuse(
          "decimal",
          "is \",\", the separator of lines too, expected another one, such as data.source.separator \";\"");
    }
    EventSchema schema = EventSchema.read(config);
    String kind = source.requiredString("kind");
    Map<String, EventSource> known = sources();
    EventSource found = known.get(kind);
    if (found == null) {
      throw source.refuse(
          "kind",
          "is \"%s\", expected one of %s".formatted(kind, String.join(", ", known.keySet())));
    }
    if (badEvents.topic().isPresent() && !kind.equals("kafka")) {
      throw data.refuse(
          "deadLetter",
          "is \"%s\", but the source is %s, expected a file; only kafka has topics"
              .formatted(badEvents.target().orElseThrow(), kind));
    }
    return new Options(schema, window, badEvents, found);
  }
}
