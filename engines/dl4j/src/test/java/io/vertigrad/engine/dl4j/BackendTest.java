package io.vertigrad.engine.dl4j;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.factory.Nd4jBackend.NoAvailableBackendException;

class BackendTest {

  @Test
  void shouldFindOneDnnWhenStarted() {
    Map<String, String> facts = Backend.start(1).describe();

    assertEquals("oneDNN", facts.get("helpers"));
    assertEquals(
        "oneDNN, called directly for channels in multiples of 16", facts.get("convolutions"));
    assertTrue(facts.get("convolutionSpeed").contains("that of engine pytorch"), facts::toString);
    assertEquals("1", facts.get("threads"));
    assertEquals("1", facts.get("blasThreads"));
  }

  @Test
  void shouldReportTheVersionOfTheLoadedLibrary() {
    String version = Backend.start(1).describe().get("nd4j");

    String jar = Nd4j.class.getProtectionDomain().getCodeSource().getLocation().getPath();
    assertTrue(jar.endsWith("nd4j-api-" + version + ".jar"), version + " of " + jar);
  }

  @Test
  void shouldReportInOneSentenceThatNoBackendCanRun() {
    Throwable failure =
        new ExceptionInInitializerError(
            new RuntimeException(new NoAvailableBackendException("see https://nd4j.org")));

    String message = Backend.unavailable(failure).getMessage();

    assertEquals(
        "engine dl4j cannot start: no ND4J backend on the class path can run here; a build with "
            + "-Pcuda needs an NVIDIA GPU with CUDA 11.6, build without -Pcuda to compute on the "
            + "processor",
        message);
  }

  @Test
  void shouldNameTheRootWhenSomethingElseFailed() {
    Throwable failure =
        new NoClassDefFoundError("x").initCause(new UnsatisfiedLinkError("no jnind4jcpu in path"));

    assertTrue(Backend.unavailable(failure).getMessage().contains("no jnind4jcpu in path"));
  }
}
