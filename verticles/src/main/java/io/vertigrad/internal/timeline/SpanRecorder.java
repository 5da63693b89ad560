package io.vertigrad.internal.timeline;

/** Where one thread notes what it did from when to when; does nothing unless asked for. */
public interface SpanRecorder {

  /** Notes nothing. */
  SpanRecorder OFF =
      new SpanRecorder() {

        @Override
        public long now() {
          return 0;
        }

        @Override
        public void span(String name, long begunNanos, long endedNanos, long step) {}
      };

  /** {@link System#nanoTime()}, for the next span; 0 when nothing is noted. */
  long now();

  /**
   * Notes what was done. Spans of one track follow each other or lie within each other.
   *
   * @param name one of few
   * @param begunNanos {@link System#nanoTime()} at its begin
   * @param step or round, or version; negative for none
   */
  void span(String name, long begunNanos, long endedNanos, long step);
}
