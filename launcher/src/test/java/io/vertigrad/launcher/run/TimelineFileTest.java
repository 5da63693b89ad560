package io.vertigrad.launcher.run;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TimelineFileTest {

  @TempDir Path folder;
  private final List<String> problems = new ArrayList<>();

  @Test
  void shouldNameEachMemberOnceAndWriteCompleteEvents() throws IOException {
    try (TimelineFile file = open(10)) {
      file.add(shipment("worker 0", 0, "[0,100,7,3, 1,107,2,-1]"), TimelineFileTest::traced);
      file.add(shipment("server 0", 0, "[0,90,1,2]"), TimelineFileTest::traced);
      file.add(shipment("worker 0", 0, "[0,120,7,4]"), TimelineFileTest::traced);
    }

    JsonArray events = written();
    assertEquals(4 + 4, events.size());
    assertEquals(
        new JsonObject(
            "{'name':'process_name','ph':'M','pid':1,'tid':1,'args':{'name':'worker 0'}}"
                .replace('\'', '"')),
        events.getJsonObject(0));
    assertEquals(
        new JsonObject(
            ("{'name':'compute','ph':'X','pid':1,'tid':1,'ts':100,'dur':7,"
                    + "'args':{'step':3,'trace':'0af3'}}")
                .replace('\'', '"')),
        events.getJsonObject(2));
    assertEquals("{\"step\":4}", events.getJsonObject(7).getJsonObject("args").encode());
    assertEquals(
        new JsonObject(
            "{'name':'wait','ph':'X','pid':1,'tid':1,'ts':107,'dur':2}".replace('\'', '"')),
        events.getJsonObject(3));
    assertEquals(1, events.getJsonObject(7).getInteger("pid"));
    assertEquals(List.of(), problems);
  }

  @Test
  void shouldKeepTheFirstSpansAndSayHowManyAreMissing() throws IOException {
    try (TimelineFile file = open(2)) {
      file.add(
          shipment("worker 0", 5, "[0,100,7,3, 1,107,2,3, 0,110,7,4]"), TimelineFileTest::traced);
    }

    assertEquals(2 + 2, written().size());
    assertTrue(problems.get(0).contains("6 spans are missing"), problems.toString());
  }

  /** Step 3 of each member is in a trace. */
  private static Optional<String> traced(String member, long step) {
    return step == 3 ? Optional.of("0af3") : Optional.empty();
  }

  private TimelineFile open(int limit) {
    return new TimelineFile(folder.resolve("timeline.json"), limit, problems::add);
  }

  private JsonArray written() throws IOException {
    return new JsonArray(Files.readString(folder.resolve("timeline.json")));
  }

  private static JsonObject shipment(String member, long dropped, String spans) {
    return new JsonObject()
        .put("member", member)
        .put("node", "127.0.0.1 pid 1")
        .put("names", JsonArray.of("compute", "wait"))
        .put("dropped", dropped)
        .put("spans", new JsonArray(spans));
  }
}
