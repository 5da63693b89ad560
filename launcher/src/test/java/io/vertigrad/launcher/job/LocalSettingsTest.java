package io.vertigrad.launcher.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
  void shouldGiveBackTheSameJobWhenTheLocalSettingsAreMergedIn() {
    JsonObject whole = LocalSettings.removedFrom(JOB).mergeIn(LocalSettings.of(JOB), true);

    JobConfig again = JobConfig.read("again", whole);

    assertEquals(JOB.serving().http().host(), again.serving().http().host());
    assertEquals(JOB.cluster().members(), again.cluster().members());
    assertEquals(Path.of("mine").toAbsolutePath(), again.checkpoint().directory().orElseThrow());
    assertEquals("/mine", again.exchange().sharedFolder());
  }

  @Test
  void shouldPassAMemberOfThisMachineWhatItNeeds() {
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
  void shouldPassNothingWhenEverythingIsAsUsual() {
    assertEquals(List.of(), LocalSettings.options(JobConfig.read("job.json", new JsonObject())));
  }
}
