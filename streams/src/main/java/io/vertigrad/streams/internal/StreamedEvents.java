package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventSource;
import io.vertigrad.streams.internal.KafkaSource.KafkaConfig;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** The events of a source as samples; without random access. Any thread. */
final class StreamedEvents implements EventDataset, StreamDataset {

  private final EventSchema schema;
  private final int window;
  private final BadEvents.Config badEvents;
  private final EventSource source;
  private final Supplier<Settings> settings;
  private final boolean test;
  private volatile int size = -1;

  /**
   * Creates the data set; nothing is opened.
   *
   * @param window number of the last events that the sliding window of tests holds, over all ranks
   * @param badEvents what becomes of events that cannot be trained on
   * @param settings reads the section of the source anew
   * @param test true for the test set, which has no samples
   */
  StreamedEvents(
      EventSchema schema,
      int window,
      BadEvents.Config badEvents,
      EventSource source,
      Supplier<Settings> settings,
      boolean test) {
    this.schema = schema;
    this.window = window;
    this.badEvents = badEvents;
    this.source = source;
    this.settings = settings;
    this.test = test;
  }

  /** Returns the number of events; the largest number if they have no end. */
  @Override
  public int size() {
    if (test) {
      return 0;
    }
    if (size < 0) {
      OptionalLong length = source.length(settings.get());
      size = (int) Math.min(Integer.MAX_VALUE, length.orElse(Integer.MAX_VALUE));
    }
    return size;
  }

  @Override
  public EventSchema schema() {
    return schema;
  }

  @Override
  public void read(int index, float[] features, int offset) {
    throw new UnsupportedOperationException(
        "sample %s: the samples of a stream are read once, in their order".formatted(index));
  }

  @Override
  public StreamBatches open(Request request) {
    EventSource.Reading reading =
        new EventSource.Reading(
            request.owner(),
            request.rank(),
            request.ranks(),
            request.batch(),
            Math.max(1, schema.lags()),
            request.length(),
            schema.fields(),
            request.vertx(),
            badEvents.action() != BadEvents.Action.STOP);
    return new PreparedStream(
        request,
        schema,
        new BadEvents(badEvents, letters(request.owner())),
        window(request),
        "source \"%s\"".formatted(source.kind()),
        position -> source.open(settings.get(), reading, position));
  }

  @Override
  public Optional<StreamTests> recorded(Request request) {
    return PreparedStream.recorded(request, schema, window(request));
  }

  /** Returns the part of the window that a rank holds. */
  private int window(Request request) {
    return Math.max(1, window / request.ranks());
  }

  private Optional<BadEvents.DeadLetters> letters(String owner) {
    return badEvents
        .target()
        .map(
            target ->
                badEvents
                    .topic()
                    .<BadEvents.DeadLetters>map(
                        topic -> new TopicLetters(KafkaConfig.read(settings.get()), topic, owner))
                    .orElseGet(() -> new FileLetters(Path.of(target))));
  }
}
