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
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
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
    for (String overlay : List.of("base", "gpu", "data", "named")) {
      String built = kustomize(DEPLOY.resolve("kubernetes").resolve(overlay));

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

  /** Two jobs of a namespace: names, what refers to them, and what selects pods differ. */
  @Test
  void shouldKeepTheNamedJobsOfANamespaceApart() throws Exception {
    assumeTrue(succeeds("kubectl", "version", "--client"), "there is no kubectl kustomize");
    Path copies = folder.resolve("kubernetes");
    copy(DEPLOY.resolve("kubernetes"), copies);
    for (String file : List.of("named/kustomization.yaml", "named/job.json")) {
      Path other = copies.resolve(file);
      Files.writeString(
          other, Files.readString(other).replace("mnist", "text").replace("../base", "../data"));
    }

    List<String> built =
        List.of(
            kustomize(DEPLOY.resolve("kubernetes/base")),
            kustomize(DEPLOY.resolve("kubernetes/named")),
            kustomize(copies.resolve("named")));

    Set<String> names = new HashSet<>();
    Set<String> selectors = new HashSet<>();
    for (String all : built) {
      for (JsonObject manifest : KubernetesSchema.read(all)) {
        KubernetesSchema.check(manifest);
        String name = manifest.getAsJsonObject("metadata").get("name").getAsString();
        assertTrue(names.add(manifest.get("kind") + "/" + name), name + " is there twice");
        JsonElement selector = selector(manifest);
        if (selector != null) {
          assertTrue(selectors.add(manifest.get("kind") + " " + selector), selector.toString());
        }
      }
    }
    assertEquals(3 * 8, selectors.size(), selectors.toString());
    for (int i = 0; i < built.size(); i++) {
      String name = List.of("", "mnist-", "text-").get(i) + "vertigrad-coordinator";
      String variable = "- name: COORDINATOR\n          value: " + name + "\n";
      assertEquals(3, built.get(i).split(Pattern.quote(variable), -1).length, built.get(i));
      assertTrue(built.get(i).contains("\"hosts\": [\"" + name), built.get(i));
    }
    assertTrue(built.get(2).contains("claimName: text-vertigrad-data"), built.get(2));
  }

  /** Returns what selects pods; null for a kind that selects none. */
  private static JsonElement selector(JsonObject manifest) {
    JsonObject spec = manifest.getAsJsonObject("spec");
    return switch (manifest.get("kind").getAsString()) {
      case "Service", "Deployment", "StatefulSet", "PodDisruptionBudget" -> spec.get("selector");
      case "NetworkPolicy" -> spec.get("podSelector");
      default -> null;
    };
  }

  private String kustomize(Path overlay) throws Exception {
    return output(0, List.of("kubectl", "kustomize", overlay.toAbsolutePath().toString()));
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
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

  /** Starts two instances as systemd would, with a program that prints what it gets. */
  @Test
  void shouldTakeTheRoleAndTheSettingsOfANodeFromItsOwnFile() throws Exception {
    assumeTrue(succeeds("taskset", "--version"), "there is no taskset");
    Path script =
        Files.writeString(
            folder.resolve("vertigrad"),
            "#!/bin/sh\necho \"$@ | data=$VERTIGRAD_DATA java=$VERTIGRAD_JAVA_OPTS"
                + " gpus=$CUDA_VISIBLE_DEVICES cpus=$(taskset -cp $$ | sed 's/.*: //')\"\n");
    assertTrue(script.toFile().setExecutable(true));
    Path all = Files.writeString(folder.resolve("node.env"), "COORDINATOR=10.0.0.5\n");
    Path own =
        Files.writeString(
            folder.resolve("gpu0.env"),
            """
            ROLE=server
            CPUS=0
            CUDA_VISIBLE_DEVICES=0
            VERTIGRAD_DATA=/data/a b
            VERTIGRAD_JAVA_OPTS=-Xmx2g
            OPTIONS=--port 8351 --insecure
            """);
    String node = "node --job 10.0.0.5 --role %s --repeat --set checkpoint.seconds=10";

    assertEquals(
        node.formatted("server")
            + " --port 8351 --insecure | data=/data/a b java=-Xmx2g gpus=0 cpus=0\n",
        startedBySystemd(script, "gpu0", List.of(all, own)));
    String others = startedBySystemd(script, "gpu1", List.of(all));
    assertTrue(others.startsWith(node.formatted("worker") + " | data= java= gpus= cpus="), others);
    String unit = Files.readString(DEPLOY.resolve("systemd/vertigrad-node@.service"));
    for (String line :
        List.of(
            "EnvironmentFile=/etc/vertigrad/node.env\nEnvironmentFile=-/etc/vertigrad/%i.env\n",
            "StateDirectory=vertigrad vertigrad/nodes/%i\nWorkingDirectory=%S/vertigrad/nodes/%i\n",
            "[Install]\nWantedBy=multi-user.target\n")) {
      assertTrue(unit.contains(line), unit);
    }
  }

  /**
   * Runs the unit's ExecStart with its environment: that of the unit, then of the files in order.
   * ${NAME} is one word; $NAME is as many as there are.
   */
  private String startedBySystemd(Path script, String instance, List<Path> files) throws Exception {
    Map<String, String> environment = new HashMap<>();
    String command = "";
    for (String line : Files.readAllLines(DEPLOY.resolve("systemd/vertigrad-node@.service"))) {
      if (line.startsWith("Environment=")) {
        set(environment, line.replaceFirst("Environment=", ""));
      } else if (line.startsWith("ExecStart=")) {
        command = line.replaceFirst("ExecStart=", "").replace("%i", instance);
      }
    }
    for (Path file : files) {
      Files.readAllLines(file).forEach(line -> set(environment, line));
    }
    List<String> words = new ArrayList<>();
    for (String word : command.split(" ")) {
      if (word.matches("\\$\\{\\w+}")) {
        words.add(environment.get(word.substring(2, word.length() - 1)));
      } else if (word.matches("\\$\\w+")) {
        Stream.of(environment.get(word.substring(1)).split(" "))
            .filter(each -> !each.isEmpty())
            .forEach(words::add);
      } else {
        words.add(word.equals("/opt/vertigrad/bin/vertigrad") ? script.toString() : word);
      }
    }
    ProcessBuilder builder = new ProcessBuilder(words).redirectErrorStream(true);
    builder.environment().putAll(environment);
    Process process = builder.start();
    String printed = new String(process.getInputStream().readAllBytes());
    assertTrue(process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS), printed);
    assertEquals(0, process.exitValue(), words + ": " + printed);
    return printed;
  }

  private static void set(Map<String, String> environment, String assignment) {
    String[] parts = assignment.split("=", 2);
    environment.put(parts[0], parts[1]);
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
