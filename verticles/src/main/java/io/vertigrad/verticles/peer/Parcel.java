package io.vertigrad.verticles.peer;

import io.vertigrad.codecs.Frame;

/**
 * A frame on its way.
 *
 * @param epoch membership epoch after which nobody wants it
 * @param bytes of its payload
 */
record Parcel(Frame frame, int epoch, int bytes) {}
