package io.vertigrad.internal.timeline;

/** Records what one thread did from when to when; does nothing unless the job has a timeline. */
public interface SpanRecorder {

  /** A recorder that records nothing. */
  SpanRecorder OFF =
      new SpanRecorder() {

        @Override
        public long now() {
          return 0;
        }

        @Override
        public void span(String name, long begunNanos, long endedNanos, long step) {}
      };

  /** Returns {@link System#nanoTime()} for the next span; 0 when nothing is recorded. */
  long now();

  /**
   * Records a span. Spans of one track follow each other or are nested.
   *
   * @param name one of a few fixed names
   * @param begunNanos {@link System#nanoTime()} at the start
   * @param step or round, or version; negative for none
   */
  void span(String name, long begunNanos, long endedNanos, long step);
}
