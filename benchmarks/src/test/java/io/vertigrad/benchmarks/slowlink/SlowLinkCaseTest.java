package io.vertigrad.benchmarks.slowlink;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.job.JobConfig;
import io.vertigrad.strategy.StrategyProviders;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.Test;
import org.w3c.dom.Document;

class SlowLinkCaseTest {

  @Test
  void shouldHaveJobsThatTheStrategiesAccept() {
    for (String model : SlowLinkBenchmark.MODELS) {
      for (SlowLinkCase one : SlowLinkCase.all()) {
        JobConfig job = JobConfig.read(one.name(), one.job(model, 0.25, "", 26_700));

        StrategyProviders.configure(job, getClass().getClassLoader());

        assertEquals("stream", job.json().getJsonObject("exchange").getString("transport"));
      }
    }
  }

  @Test
  void shouldNameEveryLinkOnce() {
    List<String> titles =
        SlowLinkBenchmark.Measurement.all(true).stream()
            .map(SlowLinkBenchmark.Measurement::title)
            .toList();

    assertEquals(titles.size(), new HashSet<>(titles).size());
    assertTrue(titles.contains("mlp, 10,000 Mbit/s, sync"));
    assertTrue(titles.contains("mlp, 10 Mbit/s with 20 ms, diloco, every 100, int4"));
    assertTrue(titles.contains("convnet, 1,000 Mbit/s with 0.2 ms, gloo allreduce"));
  }

  @Test
  void shouldDrawACurveForEachCase() throws Exception {
    String svg =
        new ThroughputPicture(
                Map.of(
                    "sync", Map.of(10, 5.0, 100, 50.0, 10_000, 400.0),
                    "diloco", Map.of(10, 3_000.0)))
            .svg();

    Document document =
        DocumentBuilderFactory.newInstance()
            .newDocumentBuilder()
            .parse(new ByteArrayInputStream(svg.getBytes(StandardCharsets.UTF_8)));
    assertEquals(2, document.getElementsByTagName("polyline").getLength());
    assertEquals(4, document.getElementsByTagName("circle").getLength());
    assertTrue(svg.contains(">10,000 Mbit/s<") && svg.contains(">diloco<"), svg);
  }
}
