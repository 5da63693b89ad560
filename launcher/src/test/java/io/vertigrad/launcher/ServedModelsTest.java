package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.launcher.job.InputException;
import io.vertigrad.serving.ModelServer.Candidate;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ServedModelsTest {

  @TempDir private Path folder;

  private final List<String> notices = new ArrayList<>();
  private final Instant now = Instant.now();

  @Test
  void shouldFindTheRunsThatHaveAModelWithTheirTestsWhenAFolderIsServed() throws IOException {
    run("a", "digits", 0.5);
    run("b", "prices", 0.25);
    Files.delete(folder.resolve("b/model.zip"));
    run("c", "prices", Double.NaN);

    ServedModels models = models("");
    List<Candidate> found = models.find();

    assertTrue(models.isFolder());
    assertEquals(2, found.size(), found::toString);
    Candidate digits = byName(found, "digits");
    assertEquals(0.5, digits.test().orElseThrow().loss());
    assertEquals(100, digits.test().orElseThrow().samples());
    assertTrue(digits.test().orElseThrow().on().startsWith("crossEntropy on "));
    assertEquals(folder.resolve("a").toString(), digits.origin());
    assertEquals(Optional.empty(), byName(found, "prices").test());
  }

  @Test
  void shouldWaitForTheSummaryWhenARunHasJustWrittenItsModel() throws IOException {
    Path run = run("a", "digits", 0.5);
    ServedModels models = models("a");
    assertFalse(models.isFolder());
    assertEquals(1, models.find().size());

    write(run.resolve("model.zip"), "newer model", now.plusSeconds(5));

    assertEquals(List.of(), models.find());
    write(run.resolve("summary.json"), summary(0.4), now.plusSeconds(6));
    assertEquals(0.4, models.find().get(0).test().orElseThrow().loss());
  }

  @Test
  void shouldNotBelieveATestThatIsOlderThanTheModelWhenNoOtherIsWritten() throws IOException {
    Path run = run("a", "digits", 0.5);
    Instant before = now.minus(Duration.ofMinutes(5));
    write(run.resolve("summary.json"), summary(0.5), before.minusSeconds(1));
    write(run.resolve("model.zip"), "model", before);

    assertEquals(Optional.empty(), models("a").find().get(0).test());
  }

  @Test
  void shouldPassOverARunOnceWithItsReasonWhenItsJobCannotBeRead() throws IOException {
    run("a", "digits", 0.5);
    Files.writeString(run("b", "digits", 0.1).resolve("job.json"), "{");
    ServedModels models = models("");

    assertEquals(1, models.find().size());
    assertEquals(1, models.find().size());

    assertEquals(1, notices.size(), notices::toString);
    assertTrue(
        notices.get(0).startsWith(folder.resolve("b") + ": is not served: "), notices.get(0));
  }

  @Test
  void shouldSayWhatIsMissingWhenARunHasNoModel() throws IOException {
    Files.delete(run("a", "digits", 0.5).resolve("model.zip"));

    InputException missing = assertThrows(InputException.class, () -> models("a").find());

    assertTrue(missing.getMessage().contains("the run has left no model"), missing.getMessage());
    assertThrows(InputException.class, () -> models("nothing").find());
  }

  private ServedModels models(String name) {
    return ServedModels.of(
        folder.resolve(name).toString(),
        path -> new ModelJobOptions().chosen(path.toString(), (file, json) -> {}),
        notices::add);
  }

  private static Candidate byName(List<Candidate> found, String name) {
    return found.stream().filter(each -> each.name().equals(name)).findFirst().orElseThrow();
  }

  private Path run(String name, String job, double loss) throws IOException {
    Path run = Files.createDirectories(folder.resolve(name));
    Files.writeString(run.resolve("job.json"), new JsonObject().put("job", job).encode());
    write(run.resolve("model.zip"), "model", now.minusSeconds(60));
    write(run.resolve("summary.json"), summary(loss), now.minusSeconds(59));
    return run;
  }

  private static String summary(double loss) {
    JsonObject summary = new JsonObject().put("testSamples", 100);
    return (Double.isNaN(loss) ? summary : summary.put("loss", loss)).encode();
  }

  private static void write(Path file, String text, Instant at) throws IOException {
    Files.writeString(file, text);
    Files.setLastModifiedTime(file, FileTime.from(at));
  }
}
