package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;

/** What a strategy verticle serves: frames in, frames out, all from one thread. */
public interface FrameEndpoint {

  /**
   * Takes a frame.
   *
   * @return completes with the answer, at the latest by the endpoint's own deadline; fails only on
   *     a defect
   */
  Future<Frame> handle(Frame frame);

  /** Called about ten times a second with a monotonic clock. */
  void tick(long nowNanos);

  /** Ends every wait; later frames are answered with {@code UNAVAILABLE}. */
  void close(String why);
}
