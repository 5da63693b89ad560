package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.TensorView;

/**
 * A frame to send.
 *
 * @param epoch membership epoch after which nobody wants the frame
 * @param tensor the frame's tensor; a borrowed one comes from the outbox's memory
 */
record OutboundFrame(Frame frame, int epoch, TensorView tensor) {

  /** Returns the payload length in bytes. */
  int bytes() {
    return tensor.payloadBytes();
  }
}
