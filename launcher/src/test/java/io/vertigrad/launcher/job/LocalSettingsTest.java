package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.settings.KeyTrait;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class LocalSettingsTest {

  private static final JobConfig JOB =
      JobConfig.read(
          "job.json",
          new JsonObject(
              """
              {"data": {"directory": "mine"},
               "checkpoint": {"directory": "mine"},
               "exchange": {"sharedFolder": "/mine"},
               "dashboard": {"host": "10.9.8.7"},
               "serving": {"host": "10.9.8.7", "port": 0, "file": "mine", "certificate": "mine",
                           "key": "mine", "authority": "mine"},
               "cluster": {"host": "10.9.8.7", "members": ["10.9.8.7:1"], "certificate": "mine",
                           "key": "mine", "authority": "mine", "secretFile": "mine"}}
              """));

  @Test
  void shouldSendNoPathAndNoAddressToAnotherMachine() {
    String sent = LocalSettings.removedFrom(JOB).encode();

    assertFalse(sent.contains("mine") || sent.contains("10.9.8.7"), sent);
  }

  @Test
  void shouldRestoreTheSameJobWhenLocalSettingsAreMergedIn() {
    JsonObject whole = LocalSettings.removedFrom(JOB).mergeIn(LocalSettings.of(JOB), true);

    JobConfig again = JobConfig.read("again", whole);

    assertEquals(JOB.serving().http().host(), again.serving().http().host());
    assertEquals(JOB.cluster().members(), again.cluster().members());
    assertEquals(Path.of("mine").toAbsolutePath(), again.checkpoint().directory().orElseThrow());
    assertEquals("/mine", again.exchange().sharedFolder());
  }

  @Test
  void shouldPassLoopbackWhenADiscoveryMakesAnotherAddressUsual() {
    JsonObject cluster = JsonObject.of("host", "127.0.0.1", "discovery", "multicast");
    JobConfig job = JobConfig.read("test", new JsonObject().put("cluster", cluster));

    List<String> options = LocalSettings.absolute(job);

    assertEquals("127.0.0.1", options.get(options.indexOf("--host") + 1));
  }

  @Test
  void shouldPassLocalSettingsToAMemberOfThisMachine() {
    List<String> options = LocalSettings.absolute(JOB);

    String mine = Path.of("mine").toAbsolutePath().toString();
    assertEquals(mine, options.get(options.indexOf("--data") + 1));
    assertEquals("10.9.8.7", options.get(options.indexOf("--host") + 1));
    assertTrue(options.contains("exchange.sharedFolder=/mine"), options::toString);
    assertTrue(options.contains("checkpoint.directory=" + mine), options::toString);
    assertTrue(options.contains("cluster.key=" + mine), options::toString);
    assertTrue(options.stream().noneMatch(word -> word.startsWith("serving.")), options::toString);
  }

  @Test
  void shouldSendNoPathOfAStreamAndGiveItToMembersOfThisMachine() {
    JobConfig stream = stream("{\"kind\": \"file\", \"path\": \"mine.csv\"}", "mine.bad");

    JsonObject sent = LocalSettings.removedFrom(stream);

    assertFalse(sent.encode().contains("mine"), sent::encode);
    String path = Path.of("mine.csv").toAbsolutePath().toString();
    JsonObject again = sent.copy().mergeIn(LocalSettings.of(stream), true);
    assertEquals(path, again.getJsonObject("data").getJsonObject("source").getString("path"));
    assertEquals("file", again.getJsonObject("data").getJsonObject("source").getString("kind"));
    for (List<String> options :
        List.of(LocalSettings.absolute(stream), LocalSettings.portable(stream))) {
      assertTrue(options.contains("data.source.path=" + path), options::toString);
      assertTrue(
          options.contains("data.deadLetter=" + Path.of("mine.bad").toAbsolutePath()),
          options::toString);
    }
    assertFalse(stream.settings().traits("data.source.path").contains(KeyTrait.AGREED));
    assertTrue(stream.settings().traits("data.source.kind").contains(KeyTrait.AGREED));
  }

  @Test
  void shouldSendATopicOfBadEvents() {
    JobConfig stream =
        stream("{\"kind\": \"kafka\", \"servers\": \"a:1\", \"topic\": \"b\"}", "topic:bad");

    JsonObject sent = LocalSettings.removedFrom(stream);

    assertEquals("topic:bad", sent.getJsonObject("data").getString("deadLetter"));
    assertEquals("a:1", sent.getJsonObject("data").getJsonObject("source").getString("servers"));
    assertTrue(stream.settings().traits("data.deadLetter").contains(KeyTrait.AGREED));
  }

  private static JobConfig stream(String source, String deadLetter) {
    JsonObject data =
        JsonObject.of(
            "name",
            "stream",
            "source",
            new JsonObject(source),
            "onBadEvent",
            "deadLetter",
            "deadLetter",
            deadLetter);
    return JobConfig.read("stream.json", JsonObject.of("data", data));
  }

  @Test
  void shouldPassANumberAsANumber() {
    JobConfig paced =
        JobConfig.read(
            "paced.json",
            new JsonObject("{\"data\": {\"name\": \"paced\", \"of\": \"digits\", \"millis\": 3}}"));

    assertTrue(LocalSettings.options(paced).contains("data.millis=3"), "a text would be refused");
  }

  @Test
  void shouldPassNoOptionsByDefault() {
    assertEquals(List.of(), LocalSettings.options(JobConfig.read("job.json", new JsonObject())));
  }
}
