package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.job.JobConfig;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.job.JobRequest;
import io.vertigrad.training.LocalMembers;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Reads and checks damaged job files as {@code train} does. Each file either is a job, or is
 * refused in one line that names the file and the place in it.
 */
class JobFileMutationTest {

  private static final Path CONF = Path.of("../conf");
  private static final int MUTANTS = 1_000;
  private static final long SEED = 20_261_123;
  private static final int LONGEST_MESSAGE = 1_500;

  private static Vertx vertx;
  private static Path images;

  @TempDir private static Path shared;
  @TempDir private Path folder;

  @BeforeAll
  static void start() throws IOException {
    vertx = Vertx.vertx();
    images = TinyImages.in(shared.resolve("images"));
    Files.write(images.resolve("data_batch_1.bin"), new byte[3_073 * 256]);
    Files.write(images.resolve("test_batch.bin"), new byte[3_073 * 10]);
  }

  @AfterAll
  static void stop() {
    vertx.close();
  }

  @Test
  @Tag("slow")
  void shouldAcceptOrRefuseWithAPlaceWhenAJobFileIsDamaged() throws IOException {
    List<Path> files = jobFiles();
    Random choice = new Random(SEED);
    List<String> wrong = new ArrayList<>();
    int accepted = 0;
    for (int mutant = 0; mutant < MUTANTS; mutant++) {
      Path original = files.get(mutant % files.size());
      JobFileMutator mutator = new JobFileMutator(choice.nextLong());
      boolean yaml = original.toString().endsWith(".yaml");
      String text = Files.readString(original);
      String damaged = yaml ? mutator.yaml(text) : mutator.json(new JsonObject(text));
      Path file = folder.resolve("job" + (yaml ? ".yaml" : ".json"));
      Files.write(file, damaged.getBytes(StandardCharsets.UTF_8));
      try {
        check(file);
        accepted++;
      } catch (SettingsException | InputException | DataException refusal) {
        String message = String.valueOf(refusal.getMessage());
        if (!hasPlace(message, file) || message.length() > LONGEST_MESSAGE) {
          wrong.add("mutant %d of %s: %s".formatted(mutant, original, message));
        }
      } catch (Throwable unexpected) {
        wrong.add("mutant %d of %s: %s\n%s".formatted(mutant, original, unexpected, damaged));
      }
    }

    assertEquals(List.of(), wrong);
    assertTrue(accepted > MUTANTS / 20, "only " + accepted + " were accepted");
    assertTrue(accepted < MUTANTS / 2, accepted + " were accepted");
  }

  @Test
  void shouldAcceptEveryJobFileWhenNothingIsDamaged() throws IOException {
    for (Path file : jobFiles()) {
      if (Files.readString(file).contains("\"engine\": \"pytorch\"")) {
        // Its engine is not on the class path of these tests.
        continue;
      }
      assertEquals(
          file.getFileName().toString().replaceAll("\\..*", ""), check(file).addresses().job());
    }
  }

  @Test
  void shouldExitWithTwoAndOneLineWhenTheFileIsBad() throws IOException {
    List<Bad> all =
        List.of(
            new Bad("a.json", "", "is empty"),
            new Bad("a.json", "{", "line 1, column 2: not valid JSON"),
            new Bad("a.json", "{\"steps\": 1,\n \"steps\": 2}", "line 2, column 2: steps is given"),
            new Bad("a.json", "{\"job\": \"\\ud800\"}", "job holds the character U+D800"),
            new Bad("a.json", "{\"data\": {\"directory\": \"a\\u0000b\"}}", "data.directory holds"),
            new Bad("a.json", "{\"data\": {\"augmentatoin\": null}}", "data.augmentatoin is not"),
            new Bad("a.json", "{\"data\": {\"train\": -1}}", "data.train is -1, expected"),
            new Bad("a.json", "{\"data\": {\"name\": \"no\"}}", "data.name: data set 'no' is not"),
            new Bad("a.json", "{\"data\": {\"download\": \"http://[\"}}", "data.download is"),
            new Bad(
                "a.json", "{\"model\": {\"name\": \"mlp\", \"layers\": 0}}", "model.layers is 0"),
            new Bad("a.json", "{\"model\": {\"name\": \"a\\tb\"}}", "model.name is"),
            new Bad("a.json", "{\"model\": {\"name\": \"no.zip\"}}", "model.name is"),
            new Bad("a.json", "{\"engine\": \"no\"}", "engine is wrong"),
            new Bad(
                "a.json",
                "{\"strategy\": {\"name\": \"dpsgd\", \"mixing\": [[null]]}}",
                "strategy.mixing holds"),
            new Bad(
                "a.json",
                "{\"strategy\": {\"name\": \"dpsgd\", \"edges\": [[0, 1000000000]]}}",
                "strategy.edges holds"),
            new Bad(
                "a.json",
                "{\"pipeline\": {\"stages\": 1024, \"replicas\": 1024}}",
                "pipeline.replicas is 1024, expected at most 4"),
            new Bad("a.json", "[".repeat(100_000), "not valid JSON: Document nesting depth (65)"),
            new Bad("a.json", "{} {}", "line 1, column 4: found more behind the end"),
            new Bad(
                "a.yaml",
                "a: &x\n  b: *x\n",
                "line 1, column 4: not valid YAML: found a value that contains"),
            new Bad(
                "a.yaml",
                "job: a\njob: b\n",
                "line 2, column 1: not valid YAML: found duplicate key job"),
            new Bad(
                "a.yaml",
                "job: !!binary aGFsbG8=\n",
                "line 1, column 6: not valid YAML: found the tag"),
            new Bad(
                "a.yaml", "1: a\n", "line 1, column 1: not valid YAML: found a key that is not"),
            new Bad("a.yaml", "a: [1, [2]\n", "line 2, column 1: not valid YAML"),
            new Bad(
                "a.yaml", "a: &a {<<: *a}\n", "line 1, column 4: not valid YAML: found a value"),
            new Bad("a.yaml", "a: !!int b\n", "line 1, column 4: not valid YAML: found the tag"),
            new Bad("a.yaml", "a: !!set {}\n", "line 1, column 4: not valid YAML: found the tag"),
            new Bad("a.yaml", "{}\n---\n{}\n", "line 2, column 1: not valid YAML: but found"),
            new Bad("a.yaml", "a: \u0001\n", "line 1: not valid YAML: found the character U+0001"),
            new Bad("a.yaml", "a: " + "[".repeat(65) + "\n", "not valid YAML: Nesting Depth"),
            new Bad("a.yaml", "job: \"\\ud800\"\n", "job holds the character U+D800"),
            new Bad(
                "a.yaml",
                "job: !!java.net.URL [x]\n",
                "line 1, column 6: not valid YAML: Global tag"));
    for (Bad bad : all) {
      Path file = Files.writeString(folder.resolve(bad.name), bad.text);
      CommandRun run =
          CommandRun.of("train", file.toString(), "--run-dir", folder.resolve("run").toString());

      assertEquals(2, run.exit(), bad + ": " + run.err());
      String message = run.err().strip();
      assertEquals(1, message.lines().count(), bad + ": " + message);
      assertTrue(message.startsWith("vertigrad: " + file + ": "), bad + ": " + message);
      assertTrue(message.contains(bad.place), bad + ": " + message);
      assertFalse(Files.exists(folder.resolve("run")), bad.toString());
    }
  }

  @Test
  void shouldTakeNullAsAbsentWhenAnOptionIsNull() throws IOException {
    Path file =
        Files.writeString(
            folder.resolve("null.json"),
            """
            {"data": {"augmentation": null, "normalization": null, "train": null},
             "model": {"name": "mlp", "layers": null, "initialization": null},
             "workers": null, "steps": null}
            """);

    JobConfig job = check(file);

    assertEquals(200, job.steps());
    assertEquals(2, job.workers().count());
    assertFalse(job.json().encode().contains("\"workers\":null"), job.json().encode());
  }

  private JobConfig check(Path file) {
    JobRequest request = new JobRequest(file.toString());
    if (mayNeedFiles(file)) {
      request.option("--data", "data.directory", images.toString());
    }
    JobConfig read = Await.result(request.read(vertx), 20, "reading the job file");
    JobConfig job = JobCheck.counted(read);
    JobCheck.files(job, LocalMembers.of(job), false);
    return job;
  }

  /** Returns true for a file whose data set needs files, which the test then provides. */
  private static boolean mayNeedFiles(Path file) {
    try {
      String text = Files.readString(file, StandardCharsets.UTF_8);
      return text.contains("mnist") || text.contains("cifar10");
    } catch (IOException e) {
      return false;
    }
  }

  /**
   * Returns true when a message names a place in the job file, or the path of a missing or wrong
   * data file.
   */
  private static boolean hasPlace(String message, Path file) {
    return message.matches(
            "(?s)\\Q"
                + file
                + "\\E( with --data \\S+)?: (line \\d+.*|\\P{Cntrl}{1,100}"
                + " (is|are|has|holds|names|cannot) .*|is empty.*|expected one .*|data.name: .*)")
        || message.startsWith("cluster.")
        || message.startsWith(images + ": ")
        || message.matches("data set '\\w+' has no folder.*");
  }

  private static List<Path> jobFiles() throws IOException {
    try (Stream<Path> files = Files.list(CONF)) {
      return files
          .filter(file -> file.toString().matches(".*(?<!\\.schema)\\.(json|yaml)"))
          .sorted()
          .toList();
    }
  }

  private record Bad(String name, String text, String place) {

    @Override
    public String toString() {
      return text.substring(0, Math.min(100, text.length()));
    }
  }
}
