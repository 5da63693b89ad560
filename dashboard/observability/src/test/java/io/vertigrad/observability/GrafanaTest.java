package io.vertigrad.observability;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.events.EventPublisher;
import io.vertigrad.events.TrainingEvent;
import io.vertigrad.events.TrainingEvent.MemberJoined;
import io.vertigrad.events.TrainingEvent.PredictorProgress;
import io.vertigrad.job.Role;
import io.vertx.core.Vertx;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Compares the Grafana dashboard and the alert rules with the series of a job that has everything.
 */
final class GrafanaTest {

  private static final Pattern SAMPLE = Pattern.compile("(?m)^(\\w+)\\{([^}]*)} ");
  private static final Pattern LABEL = Pattern.compile("(\\w+)(?==|!=|=~)");
  private static final Pattern SERIES =
      Pattern.compile("\\b((?:vertigrad|jvm|process|system)_\\w+)(?:\\{([^}]*)})?");
  private static final Pattern BY = Pattern.compile("\\b(?:by|on) \\(([^)]*)\\)");
  private static final Pattern RULE = Pattern.compile("(?m)^ +expr: (.*)$");

  /** Series that appear only after something happened in the JVM. */
  private static final Set<String> LATER = Set.of("jvm_gc_pause_seconds_sum");

  /** Labels that Prometheus adds. */
  private static final Set<String> OF_TARGETS = Set.of("instance");

  private static final Vertx VERTX = Vertx.builder().withMetrics(BusTraffic.counting()).build();
  private static final Map<String, Set<String>> EXPORTED = new HashMap<>();
  private static JsonObject board;

  @BeforeAll
  static void export() throws IOException {
    board = new JsonObject(resource("grafana.json"));
    ProcessMeters process = new ProcessMeters("digits");
    process.bus(VERTX);
    JobMeters meters = JobMeters.bind(VERTX, "digits", process.registry());
    EventPublisher events = new EventPublisher(VERTX, new Addresses("digits"));
    for (TrainingEvent event :
        List.of(
            new MemberJoined(1, Role.WORKER, 0, 0, "n", ""),
            new MemberJoined(1, Role.SERVER, 0, 0, "n", ""),
            new PredictorProgress(1, "a", 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, Map.of(500, 1L)))) {
      events.publish(event);
    }
    Awaitility.await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> process.registry().scrape().contains("vertigrad_predictor_version{"));
    SAMPLE
        .matcher(process.registry().scrape())
        .results()
        .forEach(
            sample ->
                EXPORTED
                    .computeIfAbsent(sample.group(1), name -> new HashSet<>(OF_TARGETS))
                    .addAll(labels(sample.group(2))));
    meters.close();
    process.close();
  }

  @AfterAll
  static void close() {
    VERTX.close();
  }

  @Test
  void shouldNameExportedSeriesWithTheirLabelsInEveryPanelAndRule() throws IOException {
    List<String> expressions = new ArrayList<>(expressions());
    RULE.matcher(resource("alerts.yaml")).results().forEach(rule -> expressions.add(rule.group(1)));
    Set<String> wrong = new TreeSet<>();

    for (String expression : expressions) {
      Set<String> grouped =
          BY.matcher(expression)
              .results()
              .flatMap(by -> Pattern.compile(", *").splitAsStream(by.group(1)))
              .collect(Collectors.toSet());
      for (MatchResult series : SERIES.matcher(expression).results().toList()) {
        Set<String> asked = new HashSet<>(grouped);
        asked.addAll(labels(series.group(2) == null ? "" : series.group(2)));
        Set<String> known = EXPORTED.getOrDefault(series.group(1), Set.of());
        if (!LATER.contains(series.group(1)) && (known.isEmpty() || !known.containsAll(asked))) {
          wrong.add(series.group() + " in " + expression + ", exported with " + known);
        }
      }
    }

    assertTrue(expressions.size() > 60, () -> expressions.size() + " expressions");
    assertEquals(Set.of(), wrong);
  }

  @Test
  void shouldShowEveryFamilyOfAJob() {
    Set<String> shown =
        expressions().stream()
            .flatMap(expression -> SERIES.matcher(expression).results())
            .map(series -> series.group(1))
            .collect(Collectors.toSet());

    assertEquals(
        Set.of(),
        EXPORTED.keySet().stream()
            .filter(name -> name.startsWith("vertigrad_"))
            // Of a histogram the dashboard shows quantiles.
            .filter(name -> !name.matches(".*_seconds_(count|sum|max)"))
            .filter(name -> !shown.contains(name))
            .collect(Collectors.toCollection(TreeSet::new)));
  }

  @Test
  void shouldBeADashboardThatGrafanaImports() {
    assertTrue(board.getInteger("schemaVersion") >= 36);
    assertEquals("vertigrad-job", board.getString("uid"));
    assertFalse(board.containsKey("id"), "an id is of one Grafana");
    List<String> variables =
        objects(board.getJsonObject("templating").getJsonArray("list")).stream()
            .map(variable -> variable.getString("name") + ": " + variable.getString("type"))
            .toList();
    assertEquals(List.of("datasource: datasource", "job: query"), variables);
    Set<Integer> ids = new HashSet<>();
    Set<String> cells = new HashSet<>();
    for (JsonObject panel : panels()) {
      String title = panel.getString("title");
      assertTrue(ids.add(panel.getInteger("id")), title);
      JsonObject place = panel.getJsonObject("gridPos");
      assertTrue(place.getInteger("x") + place.getInteger("w") <= 24, title);
      for (int x = 0; x < place.getInteger("w"); x++) {
        for (int y = 0; y < place.getInteger("h"); y++) {
          String cell = (place.getInteger("x") + x) + " " + (place.getInteger("y") + y);
          assertTrue(cells.add(cell), title + " lies on another panel");
        }
      }
      if (!panel.getString("type").equals("row")) {
        assertEquals("${datasource}", panel.getJsonObject("datasource").getString("uid"), title);
        assertFalse(panel.getJsonArray("targets").isEmpty(), title);
      }
    }
  }

  private static Collection<String> expressions() {
    return panels().stream()
        .flatMap(panel -> objects(panel.getJsonArray("targets", new JsonArray())).stream())
        .map(target -> target.getString("expr"))
        .toList();
  }

  private static List<JsonObject> panels() {
    return objects(board.getJsonArray("panels"));
  }

  private static List<JsonObject> objects(JsonArray array) {
    return array.stream().map(JsonObject.class::cast).toList();
  }

  private static Set<String> labels(String text) {
    return LABEL.matcher(text).results().map(label -> label.group(1)).collect(Collectors.toSet());
  }

  private static String resource(String name) throws IOException {
    return Files.readString(Path.of("../../examples/observe").resolve(name));
  }
}
