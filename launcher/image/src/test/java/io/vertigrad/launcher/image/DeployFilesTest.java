package io.vertigrad.launcher.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the compose file and the systemd units of examples/deploy. */
class DeployFilesTest {

  private static final Path DEPLOY = Path.of("../../examples/deploy");
  private static final int LIMIT_SECONDS = 60;

  /** The keys of the compose specification that the file may use. */
  private static final Set<String> SERVICE_KEYS =
      Set.of(
          "cap_drop",
          "command",
          "depends_on",
          "deploy",
          "entrypoint",
          "environment",
          "healthcheck",
          "image",
          "ports",
          "read_only",
          "restart",
          "secrets",
          "security_opt",
          "shm_size",
          "stop_grace_period",
          "tmpfs",
          "volumes");

  @TempDir private Path folder;

  @Test
  void shouldComposeServicesOfOneImageWithSecretAndTimeToEnd() throws IOException {
    JsonObject compose = KubernetesSchema.read(DEPLOY.resolve("compose.yaml")).get(0);
    JsonObject services = compose.getAsJsonObject("services");

    assertEquals(Set.of("coordinator", "server", "worker"), services.keySet());
    for (String name : services.keySet()) {
      JsonObject service = services.getAsJsonObject(name);
      List<String> unknown = new ArrayList<>(service.keySet());
      unknown.removeAll(SERVICE_KEYS);
      assertEquals(List.of(), unknown, name);
      assertEquals("vertigrad:" + version(), service.get("image").getAsString());
      assertEquals("[\"secret\"]", service.get("secrets").toString());
      assertEquals(
          "/run/secrets/secret",
          service.getAsJsonObject("environment").get("VERTIGRAD_SECRET").getAsString());
      assertEquals(
          name.equals("coordinator") ? "180s" : "60s",
          service.get("stop_grace_period").getAsString());
      boolean reads = service.get("volumes").toString().contains("\"./data:/data:ro\"");
      assertEquals(!name.equals("server"), reads, "servers need no data: " + name);
      assertEquals(reads, service.getAsJsonObject("environment").has("VERTIGRAD_DATA"), name);
      if (!name.equals("coordinator")) {
        String command = service.get("command").toString();
        assertTrue(command.contains("\"--job=coordinator\",\"--role=" + name + "\""), command);
        assertTrue(command.contains("\"--port=8350\""), "the health check asks it: " + command);
        assertTrue(command.contains("\"--set=checkpoint.seconds=10\""), command);
      }
    }
    assertTrue(compose.getAsJsonObject("secrets").has("secret"));
    for (JsonElement volume : services.getAsJsonObject("server").getAsJsonArray("volumes")) {
      assertTrue(
          compose.getAsJsonObject("volumes").has(volume.getAsString().replaceFirst(":.*", "")));
    }
  }

  /** With the compose specification itself, where Docker's plug-in or its predecessor is there. */
  @Test
  void shouldBeReadByDockerCompose() throws Exception {
    List<String> command =
        succeeds("docker", "compose", "version")
            ? List.of("docker", "compose", "config", "--quiet")
            : List.of("docker-compose", "config", "--quiet");
    assumeTrue(
        command.size() == 4 || succeeds("docker-compose", "version"),
        "there is no docker compose to check compose.yaml with");
    Files.createDirectories(folder.resolve("kubernetes/base"));
    Files.copy(DEPLOY.resolve("compose.yaml"), folder.resolve("compose.yaml"));
    Files.writeString(folder.resolve("secret"), "0".repeat(64));

    assertEquals("", output(0, command));

    String text = Files.readString(folder.resolve("compose.yaml"));
    Files.writeString(
        folder.resolve("compose.yaml"), text.replace("stop_grace_period", "stop_grace_perid"));
    assertTrue(output(-1, command).contains("stop_grace_perid"), "a misspelt key is found");
  }

  @Test
  void shouldBuildTheManifestsByKustomize() throws Exception {
    assumeTrue(succeeds("kubectl", "version", "--client"), "there is no kubectl kustomize");
    for (String overlay : List.of("base", "gpu", "data")) {
      Path source = DEPLOY.resolve("kubernetes").resolve(overlay).toAbsolutePath();

      String built = output(0, List.of("kubectl", "kustomize", source.toString()));

      List<JsonObject> manifests = KubernetesSchema.read(built);
      for (JsonObject manifest : manifests) {
        KubernetesSchema.check(manifest);
      }
      assertEquals(overlay.equals("data") ? 12 : 11, manifests.size(), overlay);
      assertEquals(overlay.equals("gpu"), built.contains("nvidia.com/gpu: 1"), overlay);
      assertTrue(
          !built.contains("name: vertigrad-job\n"), "every reference has the hash: " + built);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"vertigrad-node@.service", "vertigrad-train@.service"})
  void shouldBeVerifiedBySystemd(String unit) throws Exception {
    String text = Files.readString(DEPLOY.resolve("systemd").resolve(unit));
    assertTrue(text.contains("\nRestart=on-failure\n"), text);
    assertTrue(text.matches("(?s).*\nRestartPreventExitStatus=(1 )?2\n.*"), text);
    assertTrue(text.contains("\nSuccessExitStatus=129 130 143\n"), text);
    assertFalse(text.contains("checkpoint.directory"), "a folder of checkpoints is of one run");
    assumeTrue(succeeds("systemd-analyze", "--version"), "there is no systemd-analyze");
    Path script = Files.writeString(folder.resolve("vertigrad"), "#!/bin/sh\n");
    assertTrue(script.toFile().setExecutable(true));
    String here = text.replace("/opt/vertigrad/bin/vertigrad", script.toString());
    Path copy = Files.writeString(folder.resolve(unit), here);

    assertEquals("", output(0, List.of("systemd-analyze", "verify", copy.toString())));

    Files.writeString(copy, here.replace("TimeoutStopSec", "TimeoutStop"));
    assertTrue(
        output(-1, List.of("systemd-analyze", "verify", copy.toString())).contains("TimeoutStop"),
        "a misspelt key is found");
  }

  private static String version() throws IOException {
    String pom = Files.readString(Path.of("../../pom.xml"));
    return pom.replaceFirst("(?s).*?<version>", "").replaceFirst("(?s)</version>.*", "");
  }

  /** Returns what a program prints; any exit code is right if the expected one is -1. */
  private String output(int expected, List<String> command) throws Exception {
    Process process =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes());
    assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), command.toString());
    assertTrue(expected < 0 || process.exitValue() == expected, command + ": " + printed);
    return printed;
  }

  private static boolean succeeds(String... command) throws InterruptedException {
    try {
      Process process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
    } catch (IOException absent) {
      return false;
    }
  }
}
