package io.vertigrad.launcher.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinkAdviceTest {

  private static final LinkMeter.Speed HUNDRED = new LinkMeter.Speed(0.2, 100, 100);

  @Test
  void shouldHaveTheRowsOfTheGuidesTable() throws Exception {
    String guide = Files.readString(Path.of("../docs/guide/strategies.md"));

    for (LinkAdvice row : LinkAdvice.values()) {
      assertTrue(guide.contains("\n" + row.row() + "\n"), row.row());
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0.05, 20000, EVERY_STEP",
    "0.2, 940, COMPRESSED",
    "0.2, 95, SOME_STEPS",
    "0.2, 9, MANY_STEPS",
    "20, 9000, MANY_STEPS"
  })
  void shouldNameTheNearestRowWhenNoJobIsKnown(double millis, double megabits, LinkAdvice row) {
    LinkMeter.Speed speed = new LinkMeter.Speed(millis, megabits, megabits + 5);

    assertEquals(row, LinkAdvice.nearest(speed));
    assertTrue(LinkAdvice.of(speed, null).get(0).endsWith(row.plain()));
  }

  @Test
  void shouldComputeTheTimeOfARoundFromTheLinkAndTheSizeOfTheModel() {
    assertEquals(
        List.of(
            "A round over this link, 1,000,000 parameters, 2 workers:",
            "  allreduce        each worker sends 4.0 MB: 320 ms",
            "  allreduce, int8  each worker sends 1.0 MB: 80.4 ms",
            "  sync             4.0 MB there and back: 640 ms, less where both overlap, at least"
                + " 320 ms",
            "With sync, a server's own link carries that of every worker on another machine.",
            "If a step of 64 samples computes for    use",
            "  320 ms or longer     sync or allreduce",
            "  80.4 ms or longer    allreduce, exchange.compression int8",
            "  6.4 ms or longer     local or diloco, syncEvery 10 to 50",
            "  a shorter time       diloco, syncEvery 100 or more, exchange.compression int4,"
                + " fragments with a delay"),
        LinkAdvice.lines(HUNDRED, 1_000_000, 2, 64));
  }

  @Test
  void shouldCountTheSlowerDirectionAndEveryRoundTrip() {
    List<String> lines = LinkAdvice.lines(new LinkMeter.Speed(20, 100, 1_000), 1_000, 4, 64);

    assertEquals("  allreduce        each worker sends 6.0 kB: 60.5 ms", lines.get(1));
    assertEquals("  allreduce, int8  each worker sends 3.0 kB: 10.2 ms", lines.get(2));
    assertEquals(
        "  sync             4.0 kB there and back: 20.4 ms, less where both overlap, at least"
            + " 20.3 ms",
        lines.get(3));
  }

  @Test
  void shouldTakeTheSizeOfTheJobsModelWhenItCanBeBuilt() {
    JobConfig mlp = job("{\"model\": {\"name\": \"mlp\"}}");
    JobConfig built = job("{\"model\": {\"name\": \"convnet\"}}");
    JobConfig alone = job("{\"workers\": {\"count\": 1}}");
    JobConfig noData = job("{\"data\": {\"name\": \"mnist\", \"directory\": \"/nonexistent\"}}");

    assertTrue(LinkAdvice.of(HUNDRED, mlp).get(0).contains(" 407,050 parameters, 2 workers:"));
    assertTrue(LinkAdvice.of(HUNDRED, built).get(0).contains(" 1,960 parameters, 2 workers:"));
    assertEquals("The job has one worker.", LinkAdvice.of(HUNDRED, alone).get(1));
    assertTrue(
        LinkAdvice.of(HUNDRED, noData)
            .get(1)
            .startsWith("The size of the job's model is not known: /nonexistent: no such folder"));
  }

  private static JobConfig job(String text) {
    return JobConfig.read("test", new JsonObject(text));
  }
}
