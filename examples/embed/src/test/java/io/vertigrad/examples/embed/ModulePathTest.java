package io.vertigrad.examples.embed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Builds the example as a module, with the declaration in its README, and runs it. */
@Tag("slow")
class ModulePathTest {

  private static final Path SOURCE =
      Path.of("src/main/java/io/vertigrad/examples/embed/EmbeddedTraining.java");

  private static final Pattern DECLARATION =
      Pattern.compile("```java\n(module .*?)```", Pattern.DOTALL);

  private static final Pattern CLASS_PATH_ONLY = Pattern.compile("grep -vE '([^']+)'");
  private static final int LIMIT_SECONDS = 120;

  @TempDir private Path folder;

  @Test
  void shouldTrainWhenTheApplicationIsAModule() throws Exception {
    String readme = Files.readString(Path.of("README.md"));
    Pattern classPathOnly = Pattern.compile(found(CLASS_PATH_ONLY, readme));
    String everything = System.getProperty("java.class.path");
    String modules =
        Arrays.stream(everything.split(File.pathSeparator))
            .filter(file -> !Path.of(file).startsWith(own()))
            .filter(file -> !classPathOnly.matcher(file).find())
            .filter(file -> !file.matches(".*(junit|awaitility|hamcrest|opentest4j|apiguardian).*"))
            .collect(Collectors.joining(File.pathSeparator));
    Path classes = compile(found(DECLARATION, readme), modules);
    Path job = folder.resolve("job.json");
    Files.writeString(
        job, Files.readString(Path.of("job.json")).replace("\"steps\": 200", "\"steps\": 50"));
    Path printed = folder.resolve("printed");

    Process run =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:TieredStopAtLevel=1",
                "--module-path",
                classes + File.pathSeparator + modules,
                "--class-path",
                everything,
                "-m",
                "io.vertigrad.examples.embed/" + EmbeddedTraining.class.getName(),
                job.toString())
            .redirectErrorStream(true)
            .redirectOutput(printed.toFile())
            .start();
    boolean ended = run.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS);
    run.destroyForcibly();

    String output = Files.readString(printed, StandardCharsets.UTF_8);
    assertTrue(ended, () -> "still running after " + LIMIT_SECONDS + " s: " + output);
    assertEquals(0, run.exitValue(), output);
    assertTrue(output.contains("JobFinished[") && output.contains("version=50"), output);
    assertTrue(Pattern.compile("(?m)^accuracy: [1-9]").matcher(output).find(), output);
  }

  /** The folder in which Maven has compiled this example and its tests. */
  private static Path own() {
    return Path.of("target").toAbsolutePath();
  }

  private Path compile(String declaration, String modules) throws IOException {
    Path source = Files.writeString(folder.resolve("module-info.java"), declaration);
    Path classes = Files.createDirectory(folder.resolve("classes"));
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StringWriter errors = new StringWriter();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      boolean compiled =
          compiler
              .getTask(
                  errors,
                  files,
                  null,
                  List.of("--module-path", modules, "-d", classes.toString()),
                  null,
                  files.getJavaFileObjects(source, SOURCE))
              .call();
      assertTrue(compiled, errors::toString);
    }
    return classes;
  }

  private static String found(Pattern pattern, String text) {
    Matcher matcher = pattern.matcher(text);
    assertTrue(matcher.find(), () -> "README.md has no " + pattern);
    return matcher.group(1);
  }
}
