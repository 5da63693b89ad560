package io.vertigrad.serving.internal;

import io.vertx.core.Future;
import java.util.ServiceLoader;

/** A protocol beside HTTP by which models answer. An artifact of its own provides it. */
public interface InferenceProtocol {

  /** A port that is open. Any thread may use it. */
  interface Port {

    /** Returns its number. */
    int number();

    /** Accepts no further calls, and closes its connections. */
    Future<Void> close();
  }

  /** Returns the protocol's name, such as {@code grpc}. */
  String name();

  /**
   * Starts listening.
   *
   * @param service what it answers with
   * @param port 0 for a free one
   * @return fails with a message for the user if the port cannot be used
   */
  Future<Port> listen(InferenceService service, int port);

  /**
   * Finds a protocol.
   *
   * @param name its name, which its artifact has, too
   * @throws IllegalArgumentException if its artifact is not there, with what to do
   */
  static InferenceProtocol of(String name) {
    return ServiceLoader.load(InferenceProtocol.class, InferenceProtocol.class.getClassLoader())
        .stream()
        .map(ServiceLoader.Provider::get)
        .filter(protocol -> protocol.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    ("answering over %s needs io.vertigrad:vertigrad-serving-%s, which is not on"
                            + " the class path: add it with its dependencies, to VERTIGRAD_CLASSPATH"
                            + " for a release")
                        .formatted(name, name)));
  }
}
