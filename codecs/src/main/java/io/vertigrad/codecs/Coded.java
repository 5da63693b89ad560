package io.vertigrad.codecs;

/** A constant that is written into a frame as one byte. */
interface Coded {

  /** The byte, from 0 to 127, never given a second meaning. */
  byte code();
}
