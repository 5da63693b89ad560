package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Checks the single file that {@code -Pdist} makes; its build runs this test after making it. */
class DistributionIT {

  private static final Pattern TEST_LIBRARY =
      Pattern.compile(
          "(org/junit|org/opentest4j|org/apiguardian|org/hamcrest|org/awaitility|com/tngtech"
              + "|org/openqa|com/code_intelligence|net/bytebuddy|org/openjdk/jmh)/.*");

  @Test
  void shouldContainEveryRoleAndNoTestLibrary() throws IOException {
    try (JarFile jar = new JarFile("target/vertigrad.jar")) {
      List<String> names = jar.stream().map(entry -> entry.getName()).toList();

      assertTrue(names.contains("io/vertigrad/verticles/WorkerVerticle.class"));
      assertEquals(
          List.of(), names.stream().filter(name -> TEST_LIBRARY.matcher(name).matches()).toList());
    }
  }
}
