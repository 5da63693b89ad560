package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests a job file that names a user's class whose library is missing. */
@Tag("slow")
class MissingLibraryTest {

  @TempDir private Path folder;

  @Test
  void shouldNameTheLibrarysClassWhenAModelNeedsIt() throws Exception {
    Path jobs = folder.resolve("classes");
    compile(
        jobs,
        "package org.example; public class Library {}",
        """
        package org.example;
        import io.vertigrad.compute.ModelConfig;
        import org.deeplearning4j.nn.api.NeuralNetwork;
        public class Factory implements io.vertigrad.engine.dl4j.ModelFactory {
          public String name() { return "own"; }
          public java.util.Set<String> options() { return java.util.Set.of(); }
          public NeuralNetwork network(ModelConfig config) {
            throw new IllegalStateException(new Library().toString());
          }
        }
        """);
    Files.delete(jobs.resolve("org/example/Library.class"));

    assertEquals(
        "vertigrad: model org.example.Factory: class org.example.Library is not on the class path;"
            + " name its jar in VERTIGRAD_CLASSPATH",
        refusal(jobs, "model.name=org.example.Factory"));
  }

  private void compile(Path into, String... sources) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("-proc:none", "-d", into.toString()));
    arguments.addAll(List.of("-cp", System.getProperty("java.class.path")));
    for (String source : sources) {
      String name = source.replaceAll("(?s).*public class (\\w+).*", "$1");
      Path file = folder.resolve(name + ".java");
      Files.writeString(file, source);
      arguments.add(file.toString());
    }
    String[] all = arguments.toArray(String[]::new);
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, null, null, all));
  }

  /** Returns what a training run with such a class prints to the error stream. */
  private String refusal(Path classes, String setting) throws Exception {
    List<String> command =
        JavaCommand.of("512m", "train", "--quiet", "--no-dashboard", "--set", setting);
    command.addAll(List.of("--run-dir", folder.resolve("run").toString()));
    int classPath = command.indexOf("-cp") + 1;
    command.set(classPath, command.get(classPath) + File.pathSeparator + classes);
    Process process = new ProcessBuilder(command).start();
    assertTrue(process.waitFor(60, TimeUnit.SECONDS), "it neither trains nor ends");
    assertEquals(2, process.exitValue());
    return new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8).strip();
  }
}
