package io.vertigrad.codecs;

/** A constant that a frame stores as one byte. */
interface Coded {

  /** Returns the byte, from 0 to 127. A code never changes its meaning. */
  byte code();
}
