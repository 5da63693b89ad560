package io.vertigrad.serving.grpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.launcher.VertigradApplication;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Asks {@code vertigrad serve --grpc-port} by Python's gRPC, each in a process of its own. */
@Tag("slow")
class GrpcCommandTest {

  private static final long SECONDS = 180;
  private static final Pattern PORT = Pattern.compile("gRPC at port (\\d+)");

  /** Debian installs its packages for the first of these. */
  private static final List<String> PYTHONS = List.of("/usr/bin/python3", "python3");

  @TempDir private Path folder;

  @Test
  void shouldAnswerPythonsClientWhenAModelIsServed() throws Exception {
    Optional<String> python = python();
    assumeTrue(
        python.isPresent(),
        "no python3 with grpc and google.protobuf: apt-get install python3-grpcio"
            + " python3-protobuf");
    Files.writeString(
        folder.resolve("job.json"),
        new JsonObject()
            .put("job", "digits")
            .put("steps", 40)
            .put("data", JsonObject.of("name", "digits", "train", 640, "test", 100))
            .put("workers", JsonObject.of("count", 1, "batch", 32))
            .encode());
    await(java("train.txt", "train", "job.json", "--run-dir", "run", "--quiet"), "train.txt");
    Process server =
        java("serve.txt", "serve", "run", "--port", "0", "--grpc-port", "0", "--name", "digits");
    try {
      Matcher[] port = {null};
      Awaitility.await()
          .atMost(SECONDS, TimeUnit.SECONDS)
          .until(
              () -> {
                port[0] = PORT.matcher(Files.readString(folder.resolve("serve.txt")));
                return port[0].find() || !server.isAlive();
              });
      assertTrue(server.isAlive(), Files.readString(folder.resolve("serve.txt")));
      Path script = folder.resolve("client.py");
      try (InputStream in = GrpcCommandTest.class.getResourceAsStream("client.py")) {
        Files.copy(in, script);
      }

      String said =
          await(
              start("client.txt", List.of(python.get(), "client.py", port[0].group(1), "digits")),
              "client.txt");

      assertEquals(
          "reflection\nmetadata\ninference\nforms\nrefusals\nhealth\nparallel calls\n", said);
    } finally {
      server.destroy();
      assertTrue(server.waitFor(SECONDS, TimeUnit.SECONDS));
    }
  }

  private Optional<String> python() throws Exception {
    for (String python : PYTHONS) {
      if (!python.startsWith("/") || Files.isExecutable(Path.of(python))) {
        try {
          Process asked =
              start("imports.txt", List.of(python, "-c", "import grpc, google.protobuf"));
          if (asked.waitFor(SECONDS, TimeUnit.SECONDS) && asked.exitValue() == 0) {
            return Optional.of(python);
          }
        } catch (IOException absent) {
          // The next one may be there.
        }
      }
    }
    return Optional.empty();
  }

  private Process java(String output, String... arguments) throws Exception {
    List<String> command =
        new ArrayList<>(
            List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                VertigradApplication.class.getName()));
    command.addAll(List.of(arguments));
    return start(output, command);
  }

  private Process start(String output, List<String> command) throws Exception {
    return new ProcessBuilder(command)
        .directory(folder.toFile())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve(output).toFile())
        .start();
  }

  private String await(Process process, String output) throws Exception {
    try {
      assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "still running");
    } finally {
      process.destroyForcibly();
    }
    String said = Files.readString(folder.resolve(output));
    assertEquals(0, process.exitValue(), said);
    return said;
  }
}
