package io.vertigrad.streams.internal;

import io.vertigrad.compute.data.StreamBatches;
import io.vertigrad.compute.data.StreamDataset;
import io.vertigrad.compute.settings.Settings;
import io.vertigrad.streams.EventSource;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** The events of a source as samples; without random access. Any thread. */
final class StreamedEvents implements EventDataset, StreamDataset {

  private final EventSchema schema;
  private final int window;
  private final EventSource source;
  private final Supplier<Settings> settings;
  private final boolean test;
  private volatile int size = -1;

  /**
   * Creates the data set; nothing is opened.
   *
   * @param window number of the last events that the sliding window of tests holds, over all ranks
   * @param settings reads the section of the source anew
   * @param test true for the test set, which has no samples
   */
  StreamedEvents(
      EventSchema schema,
      int window,
      EventSource source,
      Supplier<Settings> settings,
      boolean test) {
    this.schema = schema;
    this.window = window;
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
        "sample %d: the samples of a stream are read once, in their order".formatted(index));
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
            request.vertx());
    return new PreparedStream(
        request,
        schema,
        Math.max(1, window / request.ranks()),
        position -> source.open(settings.get(), reading, position));
  }
}
