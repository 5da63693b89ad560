package io.vertigrad.internal.server;

import java.nio.FloatBuffer;

/** A source of initial parameters, for example {@code model::readParameters}. */
@FunctionalInterface
public interface ParameterSource {

  /** Fills the buffer with elements {@code [first, first + destination.remaining())}. */
  void read(int first, FloatBuffer destination);

  /** Returns a source that reads the whole exchange vector from one buffer, from position 0 on. */
  static ParameterSource of(FloatBuffer vector) {
    return (first, destination) ->
        destination.put(vector.duplicate().position(first).limit(first + destination.remaining()));
  }
}
