package io.vertigrad.launcher.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Device;
import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.List;
import org.junit.jupiter.api.Test;

class DoctorFailuresTest {

  private static final JobConfig JOB =
      JobConfig.read(
          "test",
          new JsonObject(
              """
              {"data": {"name": "mnist", "directory": "/nonexistent"},
               "cluster": {"host": "192.0.2.1", "certificate": "/nope.pem",
                           "key": "/nope.key", "authority": "/nope.ca"}}
              """));

  @Test
  void shouldReportMissingDataOnce() {
    assertEquals(
        "FAIL  data        /nonexistent: no such folder, expected a folder with the files of data"
            + " set 'mnist'; name the folder with --data DIR, fetch the files with --download, or"
            + " train on the generated data set 'digits'",
        new DataCheck(JOB.data()).run().get(0).line());
  }

  @Test
  void shouldReportAMissingCertificateOnce() {
    assertEquals(
        "FAIL  TLS         cluster.certificate: /nope.pem cannot be read, expected a PEM file;"
            + " docs/guide/operations.md says how to make one",
        new TlsCheck(JOB.cluster()).run().get(0).line());
  }

  @Test
  void shouldReportWhyTheEngineCannotComputeOnTheDevice() {
    List<String> lines =
        new EngineCheck("dl4j", Device.of("cuda").orElseThrow())
            .run().stream().map(CheckResult::line).toList();

    assertEquals(
        "FAIL  dl4j        workers.device is cuda, but the engine dl4j computes where the ND4J that"
            + " it was built with does: leave it out, and build with -Pcuda"
            + " (VERTIGRAD_PROFILE=cuda) for a GPU",
        lines.get(lines.size() - 1));
  }

  @Test
  void shouldSayWhatTheJobNeedsWhenItsSizeIsKnown() {
    JobConfig job =
        JobConfig.read(
            "test", new JsonObject("{\"model\": {\"name\": \"mlp\", \"hidden\": 8192}}"));

    String enough = new JobMemoryCheck(job, 1L << 32).run().get(0).line();
    String tight = new JobMemoryCheck(job, 1L << 20).run().get(0).line();

    assertTrue(enough.startsWith("OK    job memory  this JVM needs at least"), enough);
    assertTrue(enough.contains("; with --processes the largest process needs"), enough);
    assertTrue(tight.startsWith("WARN  job memory"), tight);
    assertTrue(tight.contains("the heap has 1 MiB: set VERTIGRAD_JAVA_OPTS=-Xmx"), tight);
    assertEquals(List.of(), new JobMemoryCheck(JOB).run(), "the check of data says why");
  }

  @Test
  void shouldNameTheKeyWhenTheAddressIsForeign() {
    assertEquals(
        "FAIL  address     192.0.2.1 is no address of this machine\n"
            + "                  -> set cluster.host to one of its own, or leave it at 127.0.0.1",
        new AddressCheck(JOB.cluster()).run().get(0).line());
  }
}
