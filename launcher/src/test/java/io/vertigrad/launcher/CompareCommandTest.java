package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.events.TrainingEvent.Evaluated;
import io.vertigrad.events.TrainingEvent.ScalarReported;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class CompareCommandTest {

  @TempDir private Path folder;

  @Test
  void shouldPrintRunsSideBySideWithAccuracyAtSharedSampleCounts() throws IOException {
    // The runs have 256 and 128 samples a version and a test every 10 versions; their accuracy is
    // version / 2 and version / 4.
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    Path other = run("other-with-a-long-name", "async", 80, 80 * 128, 0.25);

    CommandRun run = CommandRun.of("compare", one.toString(), other.toString());

    assertEquals(0, run.exit(), run.err());
    List<List<String>> rows =
        run.out().lines().map(line -> List.of(line.strip().split(" {2,}"))).toList();
    assertEquals(List.of("one", "other-with-a-long-name"), rows.get(0));
    assertTrue(rows.contains(List.of("strategy", "sync", "async")), run.out());
    assertTrue(rows.contains(List.of("samples/s", "1,024", "1,024")), run.out());
    assertTrue(rows.contains(List.of("sent, MiB", "3.0", "3.0")), run.out());
    assertTrue(rows.contains(List.of("exchanging, %", "25", "25")), run.out());
    assertTrue(rows.contains(List.of("2,560 samples", "5.00", "5.00")), run.out());
    assertTrue(rows.contains(List.of("10,240 samples", "20.00", "20.00")), run.out());
    assertEquals(8, run.out().lines().filter(line -> line.contains(" samples ")).count());
  }

  @Test
  void shouldPrintEndAndDataOfEachRun() throws IOException {
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    job(one, "sync", "convnet", 64, 0.01);
    Path other = run("other", "async", 80, 80 * 128, 0.25);
    job(other, "async", "mlp", 128, 0.0001);
    JsonObject summary = new JsonObject(Files.readString(other.resolve("summary.json")));
    Files.writeString(other.resolve("summary.json"), summary.put("state", "interrupted").encode());

    CommandRun run = CommandRun.of("compare", one.toString(), other.toString());

    assertEquals(0, run.exit(), run.err());
    List<List<String>> rows =
        run.out().lines().map(line -> List.of(line.strip().split(" {2,}"))).toList();
    assertTrue(rows.contains(List.of("state", "finished", "interrupted")), run.out());
    assertTrue(rows.contains(List.of("model", "convnet", "mlp")), run.out());
    assertTrue(rows.contains(List.of("data", "digits", "digits")), run.out());
    assertTrue(rows.contains(List.of("batch of a worker", "64", "128")), run.out());
    assertTrue(rows.contains(List.of("learning rate", "0.01", "0.0001")), run.out());
    assertTrue(rows.contains(List.of("done", "40 rounds", "80 updates")), run.out());
    assertTrue(rows.contains(List.of("samples", "10,240", "10,240")), run.out());
    assertTrue(rows.contains(List.of("tested on", "-", "-")), run.out());
  }

  @Test
  void shouldCompareStreamsInPercentAndErrorsInTheirUnit() throws IOException {
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    Path other = run("other", "async", 80, 80 * 128, 0.25);
    stream(one, JsonObject.of("accuracy", 0.9194, "events", 1_000));
    stream(other, JsonObject.of("rmse", 173_000.4, "events", 1_000));

    CommandRun run = CommandRun.of("compare", one.toString(), other.toString());

    List<List<String>> rows =
        run.out().lines().map(line -> List.of(line.strip().split(" {2,}"))).toList();
    assertTrue(rows.contains(List.of("accuracy, %", "91.94", "-")), run.out());
    assertTrue(rows.contains(List.of("RMSE", "-", "173,000")), run.out());
  }

  @Test
  void shouldSayThatRunsOnOtherDataDoNotCompare() throws IOException {
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    Path other = run("other", "async", 80, 80 * 128, 0.25);
    String said = "the runs have other data: their accuracies and losses do not compare";

    fingerprint(one, "aa");
    fingerprint(other, "aa");
    CommandRun same = CommandRun.of("compare", one.toString(), other.toString());
    fingerprint(other, "bb");
    CommandRun unlike = CommandRun.of("compare", one.toString(), other.toString());

    assertTrue(!same.out().contains(said), same.out());
    assertTrue(unlike.out().contains(said), unlike.out());
    assertTrue(!unlike.out().contains("Best"), unlike.out());
  }

  @Test
  void shouldNameTheBestRunAndTheOnlySettingThatDiffers() throws IOException {
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    job(one, "sync", "convnet", 64, 0.01);
    tested(one, 80, 2_000, true);
    Path other = run("other", "sync", 40, 40 * 256, 0.5);
    job(other, "sync", "convnet", 64, 0.0001);
    tested(other, 90, 2_000, true);
    Path part = run("part", "sync", 40, 40 * 256, 0.5);
    job(part, "sync", "convnet", 64, 0.1);
    tested(part, 99, 500, false);

    CommandRun run = CommandRun.of("compare", one.toString(), other.toString(), part.toString());

    List<String> lines = run.out().lines().toList();
    assertEquals(
        "Best accuracy: 90.00 % on 2,000 samples by other; only optimizer.learningRate differs from"
            + " one (0.0001, there 0.01 and 80.00 %).",
        lines.get(lines.size() - 1));
    assertTrue(
        lines.stream().anyMatch(line -> line.matches("tested on +2,000 +2,000 +500, not all")),
        run.out());
  }

  private static void tested(Path run, double accuracy, int samples, boolean whole)
      throws IOException {
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    summary.put("accuracy", accuracy).put("testSamples", samples).put("wholeTestSet", whole);
    Files.writeString(run.resolve("summary.json"), summary.encode());
  }

  private static void stream(Path run, JsonObject stream) throws IOException {
    JsonObject summary = new JsonObject(Files.readString(run.resolve("summary.json")));
    Files.writeString(run.resolve("summary.json"), summary.put("stream", stream).encode());
    Files.writeString(run.resolve("events.jsonl"), "");
  }

  private static void fingerprint(Path run, String hash) throws IOException {
    JsonObject all = JsonObject.of("testData", JsonObject.of("hash", hash));
    Files.writeString(
        run.resolve("job.json"),
        JsonObject.of("resolved", JsonObject.of("fingerprints", all)).encode());
  }

  @Test
  void shouldPrintTheLastValueOfEachScalar() throws IOException {
    Path one = run("one", "sync", 40, 40 * 256, 0.5);
    Path other = run("other", "async", 80, 80 * 128, 0.25);
    List<String> events = new ArrayList<>();
    for (String source : List.of("server 0", "server 1")) {
      events.add(new ScalarReported(1, source, "cut.share", 1, 9, 1, 0).toJson().encode());
    }
    events.add(new ScalarReported(2, "server 0", "cut.share", 2, 3, 2, 0).toJson().encode());
    events.add(new ScalarReported(2, "server 0", "norm", 2, Double.NaN, 1, 1).toJson().encode());
    Files.write(one.resolve("events.jsonl"), events, StandardOpenOption.APPEND);

    CommandRun run = CommandRun.of("compare", one.toString(), other.toString());

    List<List<String>> rows =
        run.out().lines().map(line -> List.of(line.strip().split(" {2,}"))).toList();
    assertTrue(rows.contains(List.of("cut.share, last", "6.000", "-")), run.out());
    assertTrue(rows.contains(List.of("norm, last", "not finite", "-")), run.out());
  }

  @Test
  void shouldShowADashForFiguresThatAnOlderRunLacks() throws IOException {
    Path one = run("one", "sync", 40, 40, 1);
    Files.writeString(one.resolve("summary.json"), "{\"version\": 40, \"samples\": 40}");

    CommandRun run = CommandRun.of("compare", one.toString(), one.toString());

    assertTrue(run.out().lines().anyMatch(line -> line.matches("loss +- +-")), run.out());
  }

  @Test
  void shouldNameTheFolderAndItsMissingFile() throws IOException {
    Path one = run("one", "sync", 40, 40, 1);
    Path torn = run("torn", "sync", 40, 40, 1);
    Files.delete(torn.resolve("summary.json"));

    CommandRun unfinished = CommandRun.of("compare", one.toString(), torn.toString());
    CommandRun absent = CommandRun.of("compare", one.toString(), folder + "/none");

    assertEquals(2, unfinished.exit());
    assertTrue(unfinished.err().contains(torn + ": summary.json is missing"), unfinished.err());
    assertEquals(2, absent.exit());
    assertTrue(absent.err().contains(folder + "/none: there is no such folder"), absent.err());
  }

  private static void job(Path run, String strategy, String model, int batch, double rate)
      throws IOException {
    JsonObject job =
        new JsonObject()
            .put("strategy", new JsonObject().put("name", strategy))
            .put("model", new JsonObject().put("name", model))
            .put("data", new JsonObject().put("name", "digits"))
            .put("workers", new JsonObject().put("batch", batch))
            .put("optimizer", new JsonObject().put("learningRate", rate));
    Files.writeString(run.resolve("job.json"), job.encode());
  }

  private Path run(String name, String strategy, int version, long samples, double perVersion)
      throws IOException {
    Path run = Files.createDirectory(folder.resolve(name));
    JsonObject summary =
        new JsonObject()
            .put("strategy", strategy)
            .put("workers", 2)
            .put("version", version)
            .put("samples", samples)
            .put("seconds", 10.0)
            .put("samplesPerSecond", samples / 10.0)
            .put("bytesSent", 3L << 20)
            .put("secondsComputing", 6.0)
            .put("secondsExchanging", 2.0)
            .put("secondsWaitingForData", 0);
    Files.writeString(run.resolve("summary.json"), summary.encode());
    List<String> events = new ArrayList<>();
    for (int v = 10; v <= version; v += 10) {
      events.add(new Evaluated(v, v, 100, 1, perVersion * v, false, "").toJson().encode());
    }
    Files.write(run.resolve("events.jsonl"), events);
    return run;
  }
}
