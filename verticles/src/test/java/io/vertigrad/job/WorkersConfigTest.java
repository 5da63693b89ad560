package io.vertigrad.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.vertigrad.compute.Device;
import io.vertigrad.compute.data.DataPartition;
import io.vertigrad.compute.data.DataPartition.Kind;
import io.vertigrad.compute.settings.SettingsException;
import io.vertigrad.strategy.StrategyProviders;
import io.vertx.core.json.JsonObject;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class WorkersConfigTest {

  @ParameterizedTest
  @CsvSource({"1, 128", "2, 64", "4, 32", "128, 1"})
  void shouldShareTheBatchOfAllEvenlyWhenGiven(int workers, int batch) {
    JobConfig job = read("{\"count\":%d,\"totalBatch\":128}".formatted(workers));

    assertEquals(batch, job.workers().batch());
    assertEquals(batch, JobConfig.read("again", job.json()).workers().batch());
  }

  @Test
  void shouldNameTheKeyWhenTheBatchOfAllIsNoMultiple() {
    assertEquals(
        "job.json: workers.totalBatch is 128, expected 126: 42 for each of 3 workers",
        refusal("{\"count\":3,\"totalBatch\":128}"));
  }

  @Test
  void shouldNameTheKeyWhenBothBatchesAreGivenAndDisagree() {
    assertEquals(
        "job.json: workers.totalBatch is 128, expected 200: 100 for each of 2 workers; leave"
            + " workers.batch out to share it evenly",
        refusal("{\"count\":2,\"batch\":100,\"totalBatch\":128}"));
  }

  @Test
  void shouldComputeOnTheProcessorUnlessAnotherDeviceIsNamed() {
    assertEquals(Device.PROCESSOR, read("{}").workers().device());
    JobConfig job = read("{\"device\":\"cuda:3\"}");
    assertEquals(OptionalInt.of(3), job.workers().device().number());
    assertEquals("cuda:3", JobConfig.read("again", job.json()).workers().device().toString());
  }

  @Test
  void shouldNameTheKeyWhenThereIsNoSuchDevice() {
    assertEquals(
        "job.json: workers.device is \"gpu\", expected cpu, cuda, or cuda:N with the number N of a"
            + " GPU",
        refusal("{\"device\":\"gpu\"}"));
    assertEquals("job.json: workers.device is 3, expected a string", refusal("{\"device\":3}"));
  }

  @Test
  void shouldGiveAllWorkersEqualBatchesUnlessTheyAreBalanced() {
    assertFalse(read("{}").workers().balancesSpeed());
    JobConfig job = read("{\"count\":4,\"totalBatch\":128,\"balance\":\"speed\"}");
    assertTrue(job.workers().balancesSpeed());
    assertTrue(JobConfig.read("again", job.json()).workers().balancesSpeed());
    assertEquals(32, job.workers().batch());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          {'strategy':{'name':'sync'}} |
          {'strategy':{'name':'sync','powerSgdRank':2}} |
          {'strategy':{'name':'allreduce'}} |
          {'strategy':{'name':'sync','quorum':1}} | workers.balance is "speed", expected "equal" with a quorum
          {'strategy':{'name':'sync','reduction':'sum'}} | strategy.reduction is "sum" with workers.balance "speed"
          {'strategy':{'name':'async'}} | expected "equal" with strategy async: nobody waits
          {'strategy':{'name':'ssp'}} | expected "equal" with strategy ssp
          {'strategy':{'name':'dpsgd'}} | expected "equal" with strategy dpsgd
          {'strategy':{'name':'gossip'}} | expected "equal" with strategy gossip
          {'strategy':{'name':'local'}} | expected "equal" with strategy local
          {'strategy':{'name':'diloco'}} | expected "equal" with strategy diloco
          {'strategy':{'name':'diloco','servers':true}} | expected "equal" with strategy diloco
          {'strategy':{'name':'allreduce','groups':2,'between':{'name':'diloco'}}} | without "between"
          {'pipeline':{'stages':2}} | expected "equal" with a pipeline
          {'workers':{'sampler':'none'}} | expected "equal" with workers.sampler "none"
          {'data':{'name':'stream'}} | expected "equal" with a stream
          """)
  void shouldBalanceOnlyWhereAStepIsTheMeanOverAllSamples(String json, String refusal) {
    JsonObject job = new JsonObject(json.replace('\'', '"'));
    job.put("workers", job.getJsonObject("workers", new JsonObject()).put("balance", "speed"));

    if (refusal == null) {
      configure(job);
    } else {
      String found = assertThrows(SettingsException.class, () -> configure(job)).getMessage();
      assertTrue(found.contains(refusal), found);
    }
  }

  @Test
  void shouldReadThePartitionWithTheKeysOfItsKind() {
    assertTrue(read("{}").workers().partition().isEmpty());
    assertEquals(
        new DataPartition(Kind.DIRICHLET, 1, 0.1),
        read("{\"partition\":{\"kind\":\"dirichlet\",\"alpha\":0.1}}")
            .workers()
            .partition()
            .orElseThrow());
    JobConfig job = read("{\"partition\":{\"kind\":\"byLabel\"}}");
    assertEquals(new DataPartition(Kind.BY_LABEL, 2, 1), job.workers().partition().orElseThrow());
    assertEquals(job.workers(), JobConfig.read("again", job.json()).workers());
    assertTrue(job.workers().ownSamples());
    assertFalse(job.workers().ownData());
    assertEquals(
        "job.json: workers.partition.labels is given with kind \"iid\", expected it with \"byLabel\" only;"
            + " leave it out, or change the kind",
        refusal("{\"partition\":{\"kind\":\"iid\",\"labels\":2}}"));
    assertEquals(
        "job.json: workers.partition.alpha is given with kind \"byLabel\", expected it with"
            + " \"dirichlet\" or \"quantity\" only; leave it out, or change the kind",
        refusal("{\"partition\":{\"kind\":\"byLabel\",\"alpha\":0.5}}"));
    assertEquals(
        "job.json: workers.partition.kind is missing, expected one of iid, byLabel, dirichlet,"
            + " quantity",
        refusal("{\"partition\":{}}"));
  }

  @Test
  void shouldCountEpochsByTheMeanWorkerUnlessEachHasDataOfItsOwn() {
    assertEquals(
        8, read("{\"batch\":4,\"partition\":{\"kind\":\"iid\"}}").workers().batches(64, 2));
    assertEquals(16, read("{\"batch\":4,\"data\":\"own\"}").workers().batches(64, 2));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          own | {'workers':{'partition':{'kind':'iid'}}} | workers.partition is given, expected none with workers.data "own"
          own | {'pipeline':{'stages':2}} | workers.data cannot be used with a pipeline: its stages work on the same samples
          own | {'workers':{'balance':'speed'}} | workers.balance is "speed", expected "equal" with workers.data "own"
          own | {'workers':{'sampler':'none'}} | workers.sampler is "none", expected "distributed" with workers.data "own"
          own | {'data':{'name':'stream'}} | workers.data cannot be used with a stream: its events are divided evenly
          own | {'epochs':2} | epochs counts passes over the training set, but with workers.data "own" nobody knows its size
          own | {'evaluator':{'everyEpochs':1}} | evaluator.everyEpochs counts passes over the training set
          own | {'optimizer':{'schedule':{'name':'cosine'}}} | optimizer.schedule counts passes over the training set
          shared | {'workers':{'balance':'speed','partition':{'kind':'iid'}}} | workers.balance is "speed", expected "equal" with workers.partition
          shared | {'workers':{'sampler':'none','partition':{'kind':'iid'}}} | workers.sampler is "none", expected "distributed" with workers.partition
          shared | {'workers':{'partition':{'kind':'iid'}},'pipeline':{'stages':2}} | workers.partition cannot be used with a pipeline
          """)
  void shouldNameTheKeyWhenItDoesNotSuitOwnSamples(String data, String json, String refusal) {
    JsonObject job = new JsonObject(json.replace('\'', '"'));
    job.put("workers", job.getJsonObject("workers", new JsonObject()).put("data", data));

    String found = assertThrows(SettingsException.class, () -> configure(job)).getMessage();

    assertTrue(found.contains(refusal), found);
  }

  private static void configure(JsonObject json) {
    JobConfig job = JobConfig.read("job.json", json);
    StrategyProviders.configure(job, WorkersConfigTest.class.getClassLoader());
  }

  private static String refusal(String workers) {
    return assertThrows(SettingsException.class, () -> read(workers)).getMessage();
  }

  private static JobConfig read(String workers) {
    return JobConfig.read("job.json", new JsonObject().put("workers", new JsonObject(workers)));
  }
}
