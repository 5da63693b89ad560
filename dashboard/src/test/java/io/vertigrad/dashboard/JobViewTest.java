package io.vertigrad.dashboard;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JobViewTest {

  private static final List<Object> VALUES =
      Arrays.asList(
          null,
          true,
          7,
          -1.5e300,
          "text",
          new JsonArray().add(1).add("x"),
          new JsonObject().put("x", "y").put("3", "z"),
          Map.of("a", 1));

  private final JobView view = new JobView();

  @Test
  void shouldKeepTheNewestStateWhenAMessageIsNoDelta() {
    view.take(
        new JsonObject()
            .put("number", 3)
            .put("state", new JsonObject().put("phase", "running"))
            .put("members", members(new JsonObject().put("role", "worker").put("rank", 0))));

    view.take(null);
    view.take("text");
    view.take(new JsonObject());

    assertEquals(3, view.number());
    assertEquals("running", view.phase());
    assertEquals(List.of("worker 0"), List.copyOf(view.members().keySet()));
  }

  @Test
  void shouldReadEveryFieldOfAnyType() {
    for (Object value : VALUES) {
      JsonObject state =
          new JsonObject().put("phase", value).put("metric", value).put("servers", value);
      for (String role : List.of("worker", "server", "evaluator")) {
        JsonObject member =
            new JsonObject()
                .put("role", role)
                .put("rank", 1)
                .put("condition", value)
                .put("staleness", value)
                .put("cores", value);
        view.take(
            new JsonObject()
                .put("number", value)
                .put("state", state)
                .put("members", members(member, value, new JsonObject().put("role", value))));
        view.take(new JsonObject().put("state", value).put("members", value));

        assertEquals(value instanceof String ? value : "unknown", view.phase());
        assertEquals(0, view.present(role));
        assertEquals(value instanceof Number, view.state().containsKey("servers"));
        scrape(role + " 1");
      }
    }
  }

  private void scrape(String member) {
    PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    MemberMeters.register(registry, view, member);
    assertTrue(registry.scrape().contains("vertigrad_member_up"));
    registry.close();
  }

  private static JsonArray members(Object... all) {
    JsonArray members = new JsonArray();
    for (Object member : all) {
      members.add(member);
    }
    return members;
  }
}
