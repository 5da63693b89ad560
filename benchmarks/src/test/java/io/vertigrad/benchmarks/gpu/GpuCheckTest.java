package io.vertigrad.benchmarks.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.benchmarks.gpu.CheckRow.Figure;
import io.vertigrad.benchmarks.gpu.CheckRow.Group;
import io.vertigrad.benchmarks.gpu.CheckRow.Measurement;
import io.vertigrad.benchmarks.gpu.CheckRow.Unit;
import io.vertigrad.benchmarks.gpu.RowResult.Outcome;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GpuCheckTest {

  private static final Path HOME = Path.of("..");
  private static final double TOLERANCE = 1e-12;

  @TempDir Path folder;
  private final List<String> order = new ArrayList<>();
  private long nowNanos;

  @Test
  void shouldMeasureTheOthersWhenARowFails() throws Exception {
    List<RowResult> results =
        check(
            "cuda",
            row("a", Aim.NONE, sitting -> fail("no kernel image | at all")),
            row("b", Aim.valueAtMost(3), figures("b", 2)),
            row("c", Aim.valueAtMost(3), figures("c", 4)));

    assertEquals(List.of(Outcome.FAILED, Outcome.PASSED, Outcome.MISSED), outcomes(results));
    String table = Files.readString(folder.resolve("result.md"));
    assertTrue(
        table.contains("| a | s |  |  |  |  | FAILED | no kernel image \\| at all |"), table);
    assertTrue(table.contains("| c | s | 4.00 |  |  | at most 3.00 | MISSED |  |"), table);
    assertTrue(table.contains("| card | H100 |"), table);
    JsonObject json = new JsonObject(Files.readString(folder.resolve("result.json")));
    assertEquals(2, json.getJsonArray("rows").getJsonObject(1).getDouble("value"));
    assertEquals("H100", json.getJsonObject("about").getString("card"));
  }

  @Test
  void shouldMeasureAPeerByTurns() throws Exception {
    CheckRow slower =
        row("a", Aim.ratioAtLeast(0.9), figures("ours", 10, 30)).beside(figures("peer", 8, 36));

    RowResult result = check("cuda", slower).get(0);

    assertEquals(List.of("ours", "peer", "ours", "peer"), order);
    assertEquals(20, result.value().orElseThrow(), TOLERANCE);
    assertEquals(22, result.peer().orElseThrow(), TOLERANCE);
    // Seconds: less is better.
    assertEquals((0.8 + 1.2) / 2, result.ratio().orElseThrow(), TOLERANCE);
    assertEquals(Outcome.PASSED, result.outcome());
  }

  @Test
  void shouldNotJudgeSpeedWithoutAPeerOrAGpu() throws Exception {
    Aim aim = Aim.ratioAtLeast(0.9);
    CheckRow row = row("a", aim, sitting -> new Figure(10));
    CheckRow broken = row.beside(sitting -> fail("killed"));

    assertEquals(Outcome.MEASURED, check("cuda", row).get(0).outcome());
    assertEquals("PyTorch: killed", check("cuda", broken).get(0).remark());
    assertEquals(
        Outcome.MEASURED, check("cpu", row.beside(figures("peer", 1, 1))).get(0).outcome());
    assertTrue(
        Files.readString(folder.resolve("result.md"))
            .contains("**Processor: a rehearsal, no figures.**"));
  }

  @Test
  void shouldListTheRestWhenTheTimeIsOver() throws Exception {
    List<RowResult> results =
        check(
            "cuda",
            row(
                "a",
                Aim.NONE,
                sitting -> {
                  nowNanos += 61_000_000_000L;
                  return new Figure(1);
                }),
            row("b", Aim.NONE, figures("b", 2)),
            row("c", Aim.NONE, figures("c", 2)).missing(Optional.of("no data")));

    assertEquals(List.of(Outcome.MEASURED, Outcome.NOT_RUN, Outcome.SKIPPED), outcomes(results));
    assertEquals("the 1.00 minutes are over", results.get(1).remark());
    assertEquals(List.of(), order);
  }

  @Test
  void shouldHaveNoNameTwice() {
    List<String> names =
        CheckRows.all(options("cuda"), new Peers(new JsonObject(), "none")).stream()
            .map(CheckRow::name)
            .toList();

    assertEquals(names.size(), new HashSet<>(names).size(), names::toString);
    for (String aim :
        List.of(
            "mlp25m b128, diloco H = 100, one worker",
            "transformer b64, diloco H = 100, bfloat16, one worker",
            "resnet20 b1024, local, one worker",
            "mlp b1024, sync, one worker",
            "gradient beside the processor, resnet20 b32, TF32 off")) {
      assertTrue(names.contains(aim), names::toString);
    }
  }

  @Test
  void shouldCountTheCallsOfTheLongerProcessOnly() {
    JsonObject shorter = calls(1_100, 30);
    JsonObject longer = calls(2_100, 60);

    Figure figure = CheckRows.callsPerStep(shorter, longer, 10);

    assertEquals(103, figure.value(), TOLERANCE);
    assertTrue(figure.remark().startsWith("toDevice 3.0, toHost 0.0"), figure.remark());
    assertTrue(figure.remark().contains("launch 100.0"), figure.remark());
  }

  /** Runs the command as {@code benchmarks/gpu/run --device cpu --quick} does, for two rows. */
  @Test
  @Tag("slow")
  void shouldRehearseOnTheProcessor() throws Exception {
    GpuCheckOptions options =
        options("cpu", "--quick", "--only", "mlp b32, (TF32 off|as a worker)");

    int code = GpuCheck.run(options);

    JsonObject json = new JsonObject(Files.readString(folder.resolve("result.json")));
    assertEquals(0, code, json::encodePrettily);
    JsonObject gradient = json.getJsonArray("rows").getJsonObject(0);
    assertEquals("passed", gradient.getString("outcome"));
    assertEquals(0, gradient.getDouble("value"));
    JsonObject step = json.getJsonArray("rows").getJsonObject(1);
    assertEquals("measured", step.getString("outcome"));
    assertTrue(step.getDouble("value") > 0);
    assertTrue(json.getBoolean("rehearsal"));
    assertFalse(json.getJsonObject("about").getString("libraries").isEmpty());
  }

  private List<RowResult> check(String device, CheckRow... rows) throws Exception {
    GpuCheckOptions options = options(device, "--minutes", "1");
    ResultFiles files = new ResultFiles(options, Map.of("card", "H100"));
    return new GpuCheck(new Sitting(options), List.of(rows), files, () -> nowNanos).run();
  }

  private GpuCheckOptions options(String device, String... more) {
    List<String> words = new ArrayList<>(List.of("--device", device, "--out", folder.toString()));
    words.addAll(List.of(more));
    return GpuCheckOptions.read(words, HOME, HOME.resolve("benchmarks"));
  }

  private static CheckRow row(String name, Aim aim, Measurement ours) {
    return CheckRow.of(Group.STEPS, name, Unit.SECONDS, aim, 60, ours);
  }

  /** Returns one figure after the other. */
  private Measurement figures(String who, double... values) {
    int[] turn = {0};
    return sitting -> {
      order.add(who);
      return new Figure(values[turn[0]++]);
    };
  }

  private static Figure fail(String why) throws IOException {
    throw new IOException(why);
  }

  private static List<Outcome> outcomes(List<RowResult> results) {
    return results.stream().map(RowResult::outcome).toList();
  }

  private static JsonObject calls(int launches, int toDevice) {
    return new JsonObject()
        .put("toDevice", toDevice)
        .put("toHost", 5)
        .put("onDevice", 0)
        .put("synchronise", 7)
        .put("launch", launches)
        .put("memset", 0)
        .put("bytes", 1_000L * toDevice);
  }
}
