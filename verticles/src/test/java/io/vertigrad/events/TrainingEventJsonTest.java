package io.vertigrad.events;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.vertigrad.compute.ValueErrors;
import io.vertigrad.compute.data.StreamTests;
import io.vertigrad.events.TrainingEvent.MemberVitals;
import io.vertigrad.events.TrainingEvent.WorkerProgress;
import io.vertigrad.events.Vitals.Vital;
import io.vertigrad.job.Role;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class TrainingEventJsonTest {

  static List<TrainingEvent> everyType() {
    return List.of(
        new TrainingEvent.JobStarted(1, "sync", 2, 3, 1L << 40, 200, 400),
        new TrainingEvent.MemberJoined(
            2, Role.WORKER, 1, 2, "127.0.0.1 pid 7", "400 samples of 2 classes (hash 0)"),
        new TrainingEvent.MemberSuspected(3, Role.SERVER, 0, 0, 3_001),
        new TrainingEvent.MemberDraining(3, Role.SERVER, 0, 1, "goes to 10.0.0.5 pid 7"),
        new TrainingEvent.MemberLeft(4, Role.WORKER, 1, 2, "silent for 10000 ms"),
        progress(0.25),
        new TrainingEvent.ServerProgress(6, 0, 1, 57, 5_000, 114, 1, 2, 3, 4),
        new TrainingEvent.Evaluated(7, 57, 1_152, 0.5, 87.25, true, "c0ffee"),
        new TrainingEvent.Evaluated(
            7, 57, 1_152, 0.5, 87.25, 5, 98.5, true, "c0ffee", "", 0, List.of()),
        new TrainingEvent.Evaluated(
            7,
            57,
            100,
            0.5,
            0,
            0,
            0,
            true,
            "c0ffee",
            "rmse",
            195_214.5,
            List.of(new ValueErrors("price", 195_214.5, 120_331.25))),
        new TrainingEvent.EpochTrained(6, 1, 0, 2, 782, 50_000, 0.75, 80.5, 12.5),
        new TrainingEvent.StreamTested(
            6,
            1,
            0,
            new StreamTests(
                false,
                50,
                40.0,
                10,
                9.0,
                35.0,
                25.0,
                Map.of(0, 30L, 1, 20L),
                Map.of(1, 50L),
                2,
                3,
                4,
                5)),
        new TrainingEvent.DataAwaited(6, 1, "topic prices, partition 1"),
        new TrainingEvent.DataWarning(6, 1, "events.csv: line 11: left out"),
        new TrainingEvent.EvaluationSkipped(7, 57, "no evaluator takes part"),
        new TrainingEvent.UpdateRefused(8, 0, 1, 56, 3, "holds NaN"),
        new TrainingEvent.UpdatesCounted(8, 0, 1, 100, 90, 4, 3, 2, 1, 0),
        new TrainingEvent.CheckpointWritten(9, 0, 57, "runs/a \"quoted\" file", 12),
        new TrainingEvent.CheckpointFailed(10, 0, 57, "No space left on device"),
        new TrainingEvent.CheckpointsDelayed(10, 40.5, 10, "writing one costs 810 ms"),
        new TrainingEvent.ShardRolledBack(10, 0, 1_842, 1_800, ""),
        new TrainingEvent.StateTaken(10, 2, 140, 0),
        new TrainingEvent.BatchesDivided(10, 40, List.of(39, 38, 38, 13)),
        new TrainingEvent.SamplesCounted(10, 3, 480, List.of(0, 200, 280)),
        new TrainingEvent.StallFound(10, 17, 15_000, "worker 1", "shard 0", "worker 0 7 ms ago"),
        new TrainingEvent.ProcessRestarted(11, "server-0", 1, 3, "exit code 137"),
        new TrainingEvent.JobFinished(11, 400, 51_200),
        new TrainingEvent.JobFailed(12, "server 0 is missing"),
        new TrainingEvent.JobStopped(12, "asked for from the dashboard"),
        new TrainingEvent.JobEnding(12, "accuracy", 97.5, 97.75, 380),
        new TrainingEvent.JobPaused(12),
        new TrainingEvent.JobResumed(13, 1_234),
        new TrainingEvent.ReplicasAveraged(13, 40, 4, 0.25, 91.5),
        new TrainingEvent.MemberVitals(
            15,
            Role.WORKER,
            1,
            0,
            "10.0.0.2 pid 9",
            new Vitals(
                Map.of(
                    Vital.CORES,
                    1.75,
                    Vital.PROCESSORS,
                    8.0,
                    Vital.HEAP,
                    (double) (1L << 28),
                    Vital.HEAP_LIMIT,
                    (double) (1L << 31),
                    Vital.OFF_HEAP,
                    5.0,
                    Vital.RESIDENT,
                    6.0,
                    Vital.BUSY_GPUS,
                    0.75,
                    Vital.GPU_MEMORY,
                    (double) (1L << 36),
                    Vital.ROUND_TRIP_MEDIAN,
                    0.5,
                    Vital.ROUND_TRIP_99,
                    2.25),
                9_000,
                Map.of(500, 8L, 5_000, 1L))),
        new TrainingEvent.PredictorProgress(
            16, "a1b2", 57, 120, 9, 400, 800, 90, 3, 2, 1, 0.5, 2.5, 900_000, Map.of(500, 400L)),
        new TrainingEvent.ScalarReported(17, "worker 1", "margin", 57, 0.25, 12, 1),
        new TrainingEvent.VersionRefused(17, "a1b2", 57, 40, "accuracy", 80.5, 91.25),
        new TrainingEvent.PeerExchange(14, 1, 0, 40, 0.5, 2.5, 0.25, 0.9, 1.0 / 3, 2));
  }

  @ParameterizedTest
  @MethodSource("everyType")
  void shouldReadTheWrittenMessageFromText(TrainingEvent event) {
    JsonObject sent = new JsonObject(event.toJson().encode());

    assertEquals(event, TrainingEvent.fromJson(sent));
  }

  @Test
  void shouldWriteTheTestsOfAStreamBesideTheOtherKeys() {
    JsonObject json = new TrainingEvent.StreamTested(6, 1, 0, StreamTests.NONE).toJson();

    assertEquals(
        "type timeMillis rank incarnation values events score windowEvents windowScore noChange"
            + " majority labels predictions unlabelled unmatched bad lost",
        String.join(" ", json.fieldNames()));
  }

  @Test
  void shouldCoverEveryEventType() {
    Set<Class<?>> tried =
        everyType().stream().map(Object::getClass).collect(Collectors.toUnmodifiableSet());

    assertEquals(
        Arrays.stream(TrainingEvent.class.getDeclaredClasses())
            .filter(Class::isRecord)
            .collect(Collectors.toUnmodifiableSet()),
        tried);
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, -0.0})
  void shouldKeepNumbersThatJsonLacks(double loss) {
    JsonObject sent = new JsonObject(progress(loss).toJson().encode());

    assertEquals(progress(loss), TrainingEvent.fromJson(sent));
  }

  @Test
  void shouldNameTypeAndComponents() {
    TrainingEvent event = new TrainingEvent.JobFinished(11, 400, 51_200);

    assertEquals(
        "{\"type\":\"jobFinished\",\"timeMillis\":11,\"version\":400,\"samples\":51200}",
        event.toJson().encode());
  }

  @Test
  void shouldNameTheMetricOnlyWhenItIsNotTheAccuracy() {
    TrainingEvent classes = new TrainingEvent.Evaluated(1, 10, 500, 0.5, 87, true, "ab");
    TrainingEvent values =
        new TrainingEvent.Evaluated(
            1, 10, 500, 0.25, Double.NaN, 0, 0, true, "ab", "rmse", 0.5, List.of());

    assertEquals(
        "{\"type\":\"evaluated\",\"timeMillis\":1,\"version\":10,\"samples\":500,\"loss\":0.5,"
            + "\"accuracy\":87.0,\"topK\":0,\"topAccuracy\":0.0,\"wholeTestSet\":true,"
            + "\"parametersHash\":\"ab\"}",
        classes.toJson().encode());
    assertEquals("rmse", values.toJson().getString("metric"));
    assertEquals(0.5, values.toJson().getDouble("metricValue"));
    JsonObject sent = new JsonObject(values.toJson().encode());
    assertEquals(values, TrainingEvent.fromJson(sent));
    assertEquals(classes, TrainingEvent.fromJson(classes.toJson()));
  }

  @Test
  void shouldWriteEachVitalUnderItsKeyWhenItWasMeasured() {
    TrainingEvent event =
        new TrainingEvent.MemberVitals(
            6,
            Role.WORKER,
            1,
            0,
            "a pid 9",
            new Vitals(
                Map.of(Vital.CORES, 1.75, Vital.PROCESSORS, 8.0, Vital.HEAP, 268_435_456.0),
                9_000,
                Map.of(500, 8L)));

    assertEquals(
        "{\"type\":\"memberVitals\",\"timeMillis\":6,\"role\":\"worker\",\"rank\":1,"
            + "\"incarnation\":0,\"node\":\"a pid 9\",\"cores\":1.75,\"processors\":8,"
            + "\"heapBytes\":268435456,\"roundTripMicrosSum\":9000,\"roundTrips\":{\"500\":8}}",
        event.toJson().encode());
  }

  @Test
  void shouldReadTheVitalsOfARunOfAnEarlierVersion() {
    String line =
        "{\"type\":\"memberVitals\",\"timeMillis\":6,\"role\":\"server\",\"rank\":0,"
            + "\"incarnation\":0,\"node\":\"a pid 9\",\"cores\":2.0,\"processors\":8,"
            + "\"heapBytes\":103047352,\"heapLimitBytes\":5618794496,\"offHeapBytes\":5760,"
            + "\"residentBytes\":239296512,\"busyGpus\":0.5,\"gpuBytes\":71234567890,"
            + "\"roundTripMillis50\":1.027,\"roundTripMillis99\":41.375}";

    MemberVitals read =
        assertInstanceOf(MemberVitals.class, TrainingEvent.fromJson(new JsonObject(line)));

    assertEquals(
        Map.of(
            Vital.CORES,
            2.0,
            Vital.PROCESSORS,
            8.0,
            Vital.HEAP,
            103_047_352.0,
            Vital.HEAP_LIMIT,
            5_618_794_496.0,
            Vital.OFF_HEAP,
            5_760.0,
            Vital.RESIDENT,
            239_296_512.0,
            Vital.BUSY_GPUS,
            0.5,
            Vital.GPU_MEMORY,
            71_234_567_890.0,
            Vital.ROUND_TRIP_MEDIAN,
            1.027,
            Vital.ROUND_TRIP_99,
            41.375),
        read.vitals().values());
    assertEquals(Map.of(), read.vitals().roundTrips());
  }

  @Test
  void shouldReadNothingWhenTheTypeIsNotKnown() {
    assertNull(TrainingEvent.fromJson(new JsonObject().put("type", "weather").put("rain", true)));
    assertNull(TrainingEvent.fromJson(new JsonObject()));
  }

  @Test
  void shouldReadNothingWhenTheRoleIsNotKnown() {
    JsonObject joined =
        new TrainingEvent.MemberJoined(2, Role.WORKER, 1, 2, "127.0.0.1 pid 7", "").toJson();

    assertEquals("worker", joined.getString("role"));
    assertNull(TrainingEvent.fromJson(joined.copy().put("role", "referee")));
    joined.remove("role");
    assertNull(TrainingEvent.fromJson(joined));
  }

  @Test
  void shouldReadDefaultsWhenAnOlderWriterLeftComponentsOut() {
    JsonObject old = new JsonObject().put("type", "workerProgress").put("rank", 3);

    assertEquals(
        new WorkerProgress(
            0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, Map.of(), Map.of(), Map.of()),
        TrainingEvent.fromJson(old));
  }

  private static WorkerProgress progress(double loss) {
    return new WorkerProgress(
        5,
        1,
        2,
        56,
        57,
        3,
        7_168,
        loss,
        Double.NaN,
        1.5,
        0.25,
        0.125,
        1_000,
        500,
        2_000,
        Map.of(0, 50L, 11, 6L),
        Map.of(0, 1L << 40, -1, 7L),
        Map.of(3, 8L));
  }
}
