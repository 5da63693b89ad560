package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.TensorView;

/**
 * A frame on its way.
 *
 * @param epoch membership epoch after which nobody wants it
 * @param tensor in the frame; one that is lent comes from the outbox's memory
 */
record OutboundFrame(Frame frame, int epoch, TensorView tensor) {

  /** Of its payload. */
  int bytes() {
    return tensor.payloadBytes();
  }
}
