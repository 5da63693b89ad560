package io.vertigrad.serving.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class InferenceProtocolTest {

  @Test
  void shouldNameTheArtifactWhenItIsNotOnTheClassPath() {
    IllegalArgumentException why =
        assertThrows(IllegalArgumentException.class, () -> InferenceProtocol.of("grpc"));

    assertEquals(
        "answering over grpc needs io.vertigrad:vertigrad-serving-grpc, which is not on the class"
            + " path: add it with its dependencies, to VERTIGRAD_CLASSPATH for a release",
        why.getMessage());
  }
}
