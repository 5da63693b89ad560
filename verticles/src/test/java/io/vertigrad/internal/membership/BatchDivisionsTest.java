package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.internal.checkpoint.CheckpointFolder;
import io.vertigrad.internal.membership.ControlMessage.ControlRequest.AskDivision;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.Role;
import io.vertigrad.strategy.Membership;
import io.vertigrad.strategy.Membership.Member;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BatchDivisionsTest {

  private static final long MILLI = 1_000_000;
  private static final List<Integer> EQUAL = List.of(8, 8, 8, 8);

  private final BatchDivisions divisions = new BatchDivisions(4, 32, List.of());
  @TempDir private Path folder;

  @Test
  void shouldBeginWithEqualSharesWithoutAskingTheOthers() {
    assertEquals(Optional.of(new BatchDivision(0, 20, EQUAL)), ask(2, 0, 0));
    assertEquals(Optional.of(new BatchDivision(0, 20, EQUAL)), ask(0, 19, 0));
    assertFalse(divisions.isUnrecorded());
  }

  @Test
  void shouldDivideByTheMeasuredSpeedWhenAllHaveReportedItTwice() {
    assertEquals(EQUAL, askAll(divisions, 20, 1, 1, 1, 3).shares());

    BatchDivision division = askAll(divisions, 40, 1, 1, 1, 3);

    assertEquals(List.of(10, 10, 9, 3), division.shares());
    assertEquals(40, division.from());
  }

  @Test
  void shouldKeepEqualSharesWhenAWorkerIsSlowOnlyForOnce() {
    askAll(divisions, 20, 1, 1, 1, 3);
    askAll(divisions, 40, 1, 1, 1, 1);

    assertEquals(EQUAL, askAll(divisions, 80, 3, 1, 1, 1).shares());
  }

  @Test
  void shouldWaitForTheLastReportAndForTheRecord() {
    IntStream.range(0, 3).forEach(rank -> assertEquals(Optional.empty(), ask(rank, 20, MILLI)));
    assertEquals(List.of(3), divisions.missing(members(4), 20));

    assertEquals(Optional.empty(), ask(3, 20, 3 * MILLI));
    assertTrue(divisions.isUnrecorded());
    divisions.onRecorded();

    Optional<BatchDivision> all = ask(3, 20, 3 * MILLI);
    assertTrue(all.isPresent());
    assertEquals(all, ask(0, 20, MILLI));
  }

  @Test
  void shouldKeepEqualSharesWhenTheGainIsSmall() {
    askAll(divisions, 20, 1, 1.05, 0.95, 1);

    BatchDivision division = askAll(divisions, 40, 1, 1.05, 0.95, 1);

    assertEquals(new BatchDivision(0, 80, EQUAL), division, "one division goes on");
  }

  @Test
  void shouldReturnToEqualSharesWhenTheSlowWorkerStaysFast() {
    List<Integer> unlike = unlike().shares();
    long round = 80;
    int measurements = 0;
    List<Integer> shares = unlike;
    while (shares.equals(unlike)) {
      BatchDivision next = askAll(divisions, round, 1, 1.02, 1, 1);
      shares = next.shares();
      round = next.until();
      measurements++;
    }

    // Each measurement counts as a tenth faster than the one before: from 3 to about 1.4 ms.
    assertTrue(measurements >= 5 && measurements <= 14, measurements + " measurements");
    while (!shares.equals(EQUAL) && measurements++ < 30) {
      BatchDivision next = askAll(divisions, round, 1, 1.02, 1, 1);
      shares = next.shares();
      round = next.until();
    }
    assertEquals(EQUAL, shares);
  }

  @Test
  void shouldKeepASmallBatchForAWorkerThatIsFastOnlyWithASmallBatch() {
    double rounds = 0;
    double millis = 0;
    long round = 20;
    List<Integer> shares = EQUAL;
    for (int i = 0; i < 200; i++) {
      // A quota of a fifth, which 2 of 32 samples do not use up.
      double perSample = shares.get(3) <= 2 ? 1 : 5;
      BatchDivision next = askAll(divisions, round, 1, 1, 1, perSample);
      shares = next.shares();
      int small = shares.get(3);
      rounds += next.until() - round;
      millis += (next.until() - round) * Math.max(shares.get(0), small <= 2 ? small : 5 * small);
      round = next.until();
    }

    double speedup = rounds * 5 * 8 / millis;
    assertTrue(speedup > 2.5, "%.2f times as fast as equal batches".formatted(speedup));
  }

  @Test
  void shouldKeepTheSharesWhileASpeedIsUnknown() {
    List<Integer> unlike = unlike().shares();

    BatchDivision division = askAll(divisions, 80, 1, 1, 1, 0);

    assertEquals(unlike, division.shares());
    assertEquals(100, division.until(), "it asks again soon");
  }

  @Test
  void shouldNotWaitForRanksWithoutAWorkerNorForWorkersOfLaterRounds() {
    Membership three =
        new Membership(2, List.of(worker(0, 0), worker(1, 0), worker(3, 21)), List.of());

    assertEquals(Optional.empty(), divisions.report(three, question(0, 20, MILLI)));
    divisions.report(three, question(1, 20, MILLI));
    divisions.onRecorded();

    Optional<BatchDivision> division = divisions.report(three, question(1, 20, MILLI));
    assertEquals(Optional.of(new BatchDivision(0, 40, EQUAL)), division);
  }

  @Test
  void shouldNotAnswerAWorkerThatIsNoMember() {
    AskDivision stranger =
        new AskDivision(new Admission(Role.WORKER, 1, 7), 20, MILLI, Optional.empty());

    assertEquals(Optional.empty(), divisions.report(members(4), stranger));
    assertEquals(4, divisions.missing(members(4), 20).size());
  }

  @Test
  void shouldMeasureLongerAsTheJobGoesOnUpToTenSecondsOfComputing() {
    assertEquals(40, askAll(divisions, 20, 1, 1, 1, 1).until());
    assertEquals(80, askAll(divisions, 40, 1, 1, 1, 1).until());
    // A round of 8 samples takes 8 ms: 1,250 of them take ten seconds.
    assertEquals(10_000 + 1_250, askAll(divisions, 10_000, 1, 1, 1, 1).until());
  }

  @Test
  void shouldRepeatWhatEarlierCoordinatorsHaveDecided() throws IOException {
    BatchDivision unlike = unlike();
    JobConfig job = job("\"seconds\":10");
    Optional<CheckpointFolder> kept = BatchDivisions.folder(job, "run");
    BatchDivisions.write(divisions.all(), kept.orElseThrow());

    BatchDivisions resumed = BatchDivisions.of(job, kept);

    assertEquals(
        Optional.of(new BatchDivision(0, 40, EQUAL)),
        resumed.report(members(4), question(1, 5, 0)));
    assertEquals(Optional.of(unlike), resumed.report(members(4), question(1, 50, 0)));
  }

  @Test
  void shouldTakeOverWhatAWorkerKnowsWhenThereAreNoRecords() {
    BatchDivision known = new BatchDivision(40, 80, List.of(10, 10, 9, 3));
    AskDivision question =
        new AskDivision(new Admission(Role.WORKER, 2, 0), 50, 0, Optional.of(known));

    divisions.report(members(4), question);
    divisions.onRecorded();

    assertEquals(Optional.of(known), divisions.report(members(4), question));
    assertEquals(Optional.of(known), ask(0, 50, 0));
    assertEquals(Optional.of(new BatchDivision(0, 40, EQUAL)), ask(0, 30, 0));
  }

  @Test
  void shouldRefuseTheRecordsOfAnotherJobAndADamagedFile() throws IOException {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () -> new BatchDivisions(2, 32, List.of(new BatchDivision(0, 20, EQUAL))))
            .getMessage();
    assertEquals(
        "rounds are divided as [8, 8, 8, 8], expected 32 samples for 2 workers; use the job file of"
            + " that run, or another checkpoint.directory",
        message);

    BatchDivision later = new BatchDivision(20, 40, EQUAL);
    assertEquals(
        "found a division from round 20 on, expected one from round 0 on; delete the file to divide"
            + " the rounds anew",
        assertThrows(
                IllegalArgumentException.class, () -> new BatchDivisions(4, 32, List.of(later)))
            .getMessage());

    Path file = folder.resolve("divisions.json");
    Files.writeString(file, "{\"divisions\":[{\"from\":3}]}");
    JobConfig job = job("\"every\":5");
    String damaged =
        assertThrows(
                IOException.class, () -> BatchDivisions.of(job, BatchDivisions.folder(job, "run")))
            .getMessage();
    assertTrue(damaged.startsWith(file + " is damaged: "), damaged);
  }

  /** Returns a division by speed, from round 40 to 80. */
  private BatchDivision unlike() {
    askAll(divisions, 20, 1, 1, 1, 3);
    return askAll(divisions, 40, 1, 1, 1, 3);
  }

  private JobConfig job(String checkpoint) {
    JsonObject job =
        new JsonObject()
            .put(
                "workers", new JsonObject().put("count", 4).put("batch", 8).put("balance", "speed"))
            .put(
                "checkpoint",
                new JsonObject("{" + checkpoint + "}").put("directory", folder.toString()));
    return JobConfig.read("test", job);
  }

  /** Asks for all workers until they get the division; times are milliseconds a sample. */
  private static BatchDivision askAll(BatchDivisions divisions, long round, double... millis) {
    List<AskDivision> questions =
        IntStream.range(0, 4)
            .mapToObj(rank -> question(rank, round, (long) (millis[rank] * MILLI)))
            .toList();
    questions.forEach(question -> divisions.report(members(4), question));
    divisions.onRecorded();
    List<BatchDivision> answers =
        questions.stream()
            .map(question -> divisions.report(members(4), question).orElseThrow())
            .distinct()
            .toList();
    assertEquals(1, answers.size(), "all get the same division");
    return answers.get(0);
  }

  private Optional<BatchDivision> ask(int rank, long round, long nanos) {
    return divisions.report(members(4), question(rank, round, nanos));
  }

  private static AskDivision question(int rank, long round, long nanos) {
    return new AskDivision(new Admission(Role.WORKER, rank, 0), round, nanos, Optional.empty());
  }

  private static Membership members(int count) {
    return new Membership(
        1, IntStream.range(0, count).mapToObj(rank -> worker(rank, 0)).toList(), List.of());
  }

  private static Member worker(int rank, long activeFrom) {
    return new Member(rank, 0, activeFrom, activeFrom);
  }
}
