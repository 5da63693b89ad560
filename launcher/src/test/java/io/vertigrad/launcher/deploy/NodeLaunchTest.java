package io.vertigrad.launcher.deploy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.run.RunDirectory;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Gives the printed commands to a shell, in a folder with stand-ins for scp and the program. */
class NodeLaunchTest {

  private static final String LABEL = "on another machine, with the paths that its own files have";

  @TempDir private Path folder;

  @BeforeEach
  void writeStandIns() throws IOException {
    for (String name : List.of("scp", "vertigrad")) {
      Path script = folder.resolve(name);
      Files.writeString(script, "#!/bin/sh\nprintf '%s\\n' \"" + name + "\" \"$@\"\n");
      assertTrue(script.toFile().setExecutable(true));
    }
  }

  @Test
  void shouldPrintACommandThatAShellTakesWhenThereAreDataAndCertificates() throws Exception {
    String data = folder.resolve("it's data (1)").toString();
    JsonObject cluster =
        new JsonObject()
            .put("host", "10.0.0.5")
            .put("certificate", "/etc/vertigrad/node 1.pem")
            .put("key", "/etc/vertigrad/node.key")
            .put("authority", "/etc/vertigrad/authority.pem");

    String line = launch(cluster, new JsonObject().put("directory", data)).elsewhere();

    assertTrue(line.startsWith(LABEL), line);
    assertEquals(
        List.of(
            "scp",
            "-p",
            "10.0.0.5:" + folder.resolve("run & more/secret"),
            "secret",
            "vertigrad",
            "node",
            "--job",
            "10.0.0.5:15801",
            "--role",
            "worker",
            "--secret",
            "secret",
            "--set",
            "cluster.authority=/etc/vertigrad/authority.pem",
            "--set",
            "cluster.certificate=/etc/vertigrad/node 1.pem",
            "--set",
            "cluster.key=/etc/vertigrad/node.key",
            "--data",
            data),
        pasted(line));
  }

  @Test
  void shouldLeaveDataAndCertificatesToTheVariablesOfTheOtherMachine() throws Exception {
    String data = folder.resolve("\"$HOME\" `it's` {1}").toString();
    JsonObject cluster =
        new JsonObject()
            .put("host", "10.0.0.5")
            .put("tls", "/etc/vertigrad")
            .put("secretFile", "/etc/vertigrad/secret");

    String line = launch(cluster, new JsonObject().put("directory", data)).elsewhere();

    List<String> words =
        List.of("vertigrad", "node", "--job", "10.0.0.5:15801", "--role", "worker");
    assertEquals(all(words, data, "/etc/vertigrad", "/etc/vertigrad/secret"), pasted(line));
    Map<String, String> variables =
        Map.of("VERTIGRAD_DATA", "/its data", "VERTIGRAD_TLS", "/tls", "VERTIGRAD_SECRET", "/s");
    assertEquals(all(words, "/its data", "/tls", "/s"), pasted(line, variables));
  }

  private static List<String> all(List<String> words, String data, String tls, String secret) {
    List<String> all = new ArrayList<>(words);
    all.addAll(List.of("--data", data, "--tls", tls, "--secret", secret));
    return all;
  }

  @Test
  void shouldPrintNoPathsWhenThereAreNone() throws Exception {
    JsonObject cluster = new JsonObject().put("host", "10.0.0.6").put("insecure", true);

    String line = launch(cluster, new JsonObject()).elsewhere();

    assertTrue(line.startsWith("on another machine: scp "), line);
    assertEquals(
        List.of(
            "scp",
            "-p",
            "10.0.0.6:" + folder.resolve("run & more/secret"),
            "secret",
            "vertigrad",
            "node",
            "--job",
            "10.0.0.5:15801",
            "--role",
            "worker",
            "--secret",
            "secret"),
        pasted(line));
  }

  private NodeLaunch launch(JsonObject cluster, JsonObject data) {
    JobConfig job =
        JobConfig.read(
            "test",
            new JsonObject()
                .put("cluster", cluster)
                .put("data", data.put("name", "mnist"))
                .put("model", new JsonObject().put("name", "convnet")));
    RunDirectory run = new RunDirectory(folder.resolve("run & more"));
    return new NodeLaunch(job, run, "10.0.0.5:15701", "10.0.0.5:15801", "Main");
  }

  /** Returns the words that the programs of the command receive. */
  private List<String> pasted(String line) throws IOException, InterruptedException {
    return pasted(line, Map.of());
  }

  private List<String> pasted(String line, Map<String, String> variables)
      throws IOException, InterruptedException {
    String command = line.substring(line.indexOf(": ") + 2);
    ProcessBuilder shell = new ProcessBuilder("sh", "-c", command).directory(folder.toFile());
    shell.environment().keySet().removeIf(name -> name.startsWith("VERTIGRAD_"));
    shell.environment().putAll(variables);
    shell.environment().merge("PATH", folder.toString(), (all, own) -> own + ":" + all);
    Process process = shell.redirectErrorStream(true).start();
    String words = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(10, TimeUnit.SECONDS) && process.exitValue() == 0, words);
    return words.lines().toList();
  }
}
