package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;

/**
 * The interface of a strategy verticle: it receives frames and answers with frames, all on one
 * thread.
 */
public interface FrameEndpoint {

  /**
   * Handles a frame.
   *
   * @return completes with the answer, at the latest at the endpoint's own deadline; fails only on
   *     a defect
   */
  Future<Frame> handle(Frame frame);

  /** Called about ten times a second with a monotonic clock. */
  void tick(long nowNanos);

  /** Ends all waits; later frames are answered with {@code UNAVAILABLE}. */
  void close(String why);
}
