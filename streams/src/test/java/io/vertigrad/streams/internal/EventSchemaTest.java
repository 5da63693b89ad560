package io.vertigrad.streams.internal;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.settings.SettingsException;
import io.vertx.core.json.JsonObject;
import java.math.BigInteger;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EventSchemaTest {

  private static final String USUAL =
      "{'features':[{'field':'demand'},{'field':'day','type':'category','values':['1','2']}],"
          + "'label':{'field':'class','classes':['0','1']},'lags':2}";

  @Test
  void shouldWriteNumbersCategoriesAndEarlierLabels() {
    EventSchema schema = schema(USUAL);
    float[] features = new float[1 + schema.width()];

    schema.write(new Object[] {"0.5", 2, "1"}, new float[] {1, Float.NaN}, features, 1);

    assertEquals(1 + 2 + 2 * 2, schema.width());
    assertArrayEquals(new float[] {0, 0.5f, 0, 1, 0, 1, 0, 0}, features);
    assertEquals(1, schema.label("1"));
    assertArrayEquals(new int[] {0}, schema.numbers());
  }

  @Test
  void shouldHashCategoriesIntoBuckets() {
    EventSchema schema =
        schema(
            "{'features':[{'field':'user','type':'category','buckets':8}],"
                + "'label':{'field':'y','classes':2}}");
    float[] one = new float[8];
    float[] same = new float[8];

    schema.write(new Object[] {"anna", "0"}, new float[0], one, 0);
    schema.write(new Object[] {"anna", "1"}, new float[0], same, 0);

    assertArrayEquals(one, same);
    float sum = 0;
    for (float each : one) {
      sum += each;
    }
    assertEquals(1, sum);
  }

  @Test
  void shouldFillMissingValuesAsStated() {
    EventSchema schema =
        schema(
            "{'features':[{'field':'a','missing':-1},{'field':'b','missing':'mean'},"
                + "{'field':'c','type':'category','values':['x'],'missing':'none'}],"
                + "'label':{'field':'y'}}");
    float[] features = new float[3];

    schema.write(new Object[] {null, null, "other", 1}, new float[0], features, 0);

    assertArrayEquals(new float[] {-1, Float.NaN, 0}, features);
    assertTrue(schema.values());
    assertEquals(2.5f, schema.label(2.5));
  }

  @Test
  void shouldKeepDifferencesOfLargeNumbersToTheirOrigin() {
    EventSchema schema =
        schema(
            "{'features':[{'field':'time','origin':1790000000,'missing':1790000007}],"
                + "'label':{'field':'y'},'normalization':'raw'}");
    float[] features = new float[1];

    for (Object time : List.of("1790000003", 1_790_000_003, 1_790_000_003L, 1_790_000_003.0)) {
      schema.write(new Object[] {time, 1}, new float[0], features, 0);
      assertArrayEquals(new float[] {3}, features);
    }
    schema.write(new Object[] {null, 1}, new float[0], features, 0);
    assertArrayEquals(new float[] {7}, features);
    schema.writeAsked(new Object[] {1_790_000_003}, features, 0);
    assertArrayEquals(new float[] {3}, features);
  }

  @Test
  void shouldReportAnInvalidEvent() {
    EventSchema schema = schema(USUAL);

    assertEquals("field \"demand\" is \"x\", expected a finite number", error(schema, "x", "1"));
    assertTrue(error(schema, null, "1").startsWith("field \"demand\" is missing"));
    assertTrue(error(schema, "1", "3").startsWith("field \"day\" is \"3\", expected one of 1, 2"));
    assertEquals(
        "field \"class\" is \"2\", expected one of 0, 1",
        assertThrows(DataException.class, () -> schema.label("2")).getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"12d", "0x1p3", "NaN", "Infinity", "1_0", "12 34", "١٢", "1,234.5"})
  void shouldTakeOnlyDecimalNumbersAsNumbers(String text) {
    EventSchema schema = schema(USUAL);
    EventSchema ofValues = schema("{'features':[{'field':'a'}],'label':{'field':'y'}}");

    assertEquals(
        "field \"demand\" is \"%s\", expected a finite number".formatted(text),
        error(schema, text, "1"));
    assertEquals(
        "field \"y\" is \"%s\", expected a finite number".formatted(text),
        assertThrows(DataException.class, () -> ofValues.label(text)).getMessage());
  }

  @Test
  void shouldRefuseNumbersBeyondTheRangeOfFloats() {
    EventSchema schema = schema(USUAL);

    for (Object found : List.of("1e39", 1e39, "1e400", new BigInteger("9".repeat(50)))) {
      assertEquals(
          "field \"demand\" is \"%s\", expected a number in the range of float32".formatted(found),
          error(schema, found, "1"));
    }
    assertEquals(
        "field \"demand\" is \"NaN\", expected a finite number", error(schema, Double.NaN, "1"));
  }

  @Test
  void shouldReadDecimalCommasWhenTheOptionSaysSo() {
    String text = "{'features':[{'field':'a'}],'label':{'field':'y'}}";
    EventSchema comma = schema(text, new JsonObject().put("decimal", ","));
    float[] features = new float[1];

    comma.write(new Object[] {"3,25", "1"}, new float[0], features, 0);

    assertArrayEquals(new float[] {3.25f}, features);
    assertEquals(-0.5f, comma.label("-,5"));
    assertEquals(
        "field \"y\" is \"3,14\", expected a finite number; if ',' is its decimal mark, set"
            + " data.decimal to \",\"",
        assertThrows(DataException.class, () -> schema(text).label("3,14")).getMessage());
  }

  @Test
  void shouldReportAnInvalidSchema() {
    assertTrue(wrong("{'label':{'field':'y'}}").contains("data.schema.features is missing"));
    assertTrue(
        wrong("{'features':[{'field':'a','typ':'number'}],'label':{'field':'y'}}")
            .contains("data.schema.features[0].typ"));
    assertTrue(
        wrong("{'features':[{'field':'a','type':'category'}],'label':{'field':'y'}}")
            .contains("data.schema.features[0].values is missing"));
    assertTrue(
        wrong("{'features':[{'field':'a'}],'label':{'field':'y','classes':['1']}}")
            .contains("data.schema.label.classes has 1 classes, expected at least 2"));
  }

  private static String error(EventSchema schema, Object demand, Object day) {
    return assertThrows(
            DataException.class,
            () ->
                schema.write(
                    new Object[] {demand, day, "0"}, new float[2], new float[schema.width()], 0))
        .getMessage();
  }

  private static String wrong(String schema) {
    return assertThrows(SettingsException.class, () -> schema(schema)).getMessage();
  }

  static EventSchema schema(String schema) {
    return schema(schema, new JsonObject());
  }

  private static EventSchema schema(String schema, JsonObject options) {
    return EventSchema.read(
        new DataConfig(
            "stream",
            Optional.empty(),
            Optional.empty(),
            options.put("schema", new JsonObject(schema.replace('\'', '"'))).getMap(),
            "job.json"));
  }
}
