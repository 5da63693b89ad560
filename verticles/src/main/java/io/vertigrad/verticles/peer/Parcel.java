package io.vertigrad.verticles.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Tensor;

/**
 * A frame on its way.
 *
 * @param epoch membership epoch after which nobody wants it
 * @param tensor in the frame
 * @param lent the tensor's memory is to be given back
 */
record Parcel(Frame frame, int epoch, Tensor tensor, boolean lent) {

  /** Of its payload. */
  int bytes() {
    return tensor.payloadBytes();
  }
}
