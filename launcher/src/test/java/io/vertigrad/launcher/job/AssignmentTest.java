package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertx.core.json.JsonArray;
import io.vertx.core.json.JsonObject;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class AssignmentTest {

  private final JsonObject job = new JsonObject("{\"workers\": {\"count\": 2}, \"steps\": 5}");

  @Test
  void shouldReplaceNestedValueWhenSectionExists() {
    Assignment.parse("workers.count=4").applyTo(job);

    assertEquals(4, job.getJsonObject("workers").getInteger("count"));
  }

  @Test
  void shouldCreateSectionsWhenPathIsNew() {
    Assignment.parse("optimizer.schedule.name=cosine").applyTo(job);

    assertEquals(
        "cosine", job.getJsonObject("optimizer").getJsonObject("schedule").getString("name"));
  }

  @Test
  void shouldReadJsonLiteralsWhenValueIsOne() {
    Assignment.parse("a.flag=true").applyTo(job);
    Assignment.parse("a.rate=1e-3").applyTo(job);
    Assignment.parse("a.list=[80, 120]").applyTo(job);
    Assignment.parse("a.text=\"7\"").applyTo(job);

    JsonObject section = job.getJsonObject("a");
    assertEquals(true, section.getValue("flag"));
    assertEquals(1e-3, section.getDouble("rate"));
    assertEquals(new JsonArray().add(80).add(120), section.getJsonArray("list"));
    assertEquals("7", section.getValue("text"));
  }

  @Test
  void shouldKeepTextAfterFirstEqualsSignWhenValueHoldsMore() {
    Assignment.parse("data.download=http://host/x?a=b").applyTo(job);

    assertEquals("http://host/x?a=b", job.getJsonObject("data").getString("download"));
  }

  @Test
  void shouldRemoveKeyWhenValueIsNull() {
    Assignment.parse("steps=null").applyTo(job);

    assertFalse(job.containsKey("steps"));
  }

  @Test
  void shouldReportTheExpectedFormWhenTheEqualsSignIsMissing() {
    assertEquals("--set steps: expected KEY=VALUE, such as workers.count=4", refusal("steps"));
  }

  @Test
  void shouldReportTheExpectedFormWhenThePathHasAnEmptyKey() {
    assertEquals(
        "--set workers..count: expected keys separated by dots, such as workers.count=4",
        refusal("workers..count=1"));
  }

  @Test
  void shouldSuggestQuotesWhenJsonIsCutShort() {
    assertEquals(
        "--set a=[1,: the value starts like JSON but is not complete; quote it for the shell,"
            + " 'KEY=[1, 2]'",
        refusal("a=[1,"));
  }

  @Test
  void shouldNameTheKeyThatIsNotASection() {
    assertEquals(
        "--set steps.count: \"steps\" is 5 in the job file, expected a section { ... }",
        refusal("steps.count=1"));
  }

  private String refusal(String text) {
    return assertThrows(InputException.class, () -> Assignment.parse(text).applyTo(job))
        .getMessage();
  }

  @ParameterizedTest
  @ValueSource(strings = {"/a path/it's", "12", "true", "null", "[x", "{\"a\": 1}", "a=b", "\"q\""})
  void shouldParseTheWordsThatItWrites(String text) {
    assertEquals(new Assignment("a.b", text), Assignment.parse(Assignment.words("a.b", text)));
  }
}
