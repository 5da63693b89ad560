package io.vertigrad.internal.server;

import java.nio.FloatBuffer;

/** Where initial parameters come from; {@code model::readParameters} is one. */
@FunctionalInterface
public interface ParameterSource {

  /** Fills the buffer with elements {@code [first, first + destination.remaining())}. */
  void read(int first, FloatBuffer destination);

  /** The whole exchange vector in one buffer, from its position 0 on. */
  static ParameterSource of(FloatBuffer vector) {
    return (first, destination) ->
        destination.put(vector.duplicate().position(first).limit(first + destination.remaining()));
  }
}
