package io.vertigrad.internal.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.job.JobConfig;
import io.vertx.core.json.JsonObject;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class JobTermsTest {

  private static final String FILE =
      """
      {"seed": 3,
       "data": {"name": "csv", "directory": "/here", "augmentation": "none", "shape": [1, 4]},
       "model": {"name": "/home/a/net.zip", "hidden": 64},
       "optimizer": {"learningRate": 0.05, "schedule": {"name": "step", "milestones": [2, 5]}},
       "strategy": {"name": "sync", "reduction": "sum"}}
      """;

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "\"none\"; \"pad-crop-flip\"; data.augmentation: found pad-crop-flip, expected none",
        "[1, 4]; [2, 2]; data.shape: found [2, 2], expected [1, 4]",
        "64; 32; model.hidden: found 32, expected 64",
        "0.05; 0.1; optimizer.learningRate: found 0.1, expected 0.05",
        "[2, 5]; [2, 6]; optimizer.schedule.milestones: found [2, 6], expected [2, 5]",
        "\"sum\"; \"mean\"; strategy.reduction: found mean, expected sum",
        "\"seed\": 3; \"seed\": 4; seed: found 4, expected 3",
        "\"hidden\": 64; \"width\": 64; model.hidden: found nothing, expected 64",
      })
  void shouldNameKeyAndBothValuesWhenTheTrainedJobDiffers(
      String written, String changed, String difference) {
    Optional<String> found = terms(FILE).firstDifference(terms(FILE.replace(written, changed)));

    assertEquals(Optional.of(difference), found);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "/here; /there",
        "/home/a/net.zip; net.zip",
        "0.05; 5.0e-2",
        "[1, 4]; [1, 4.0]",
        "\"seed\": 3; \"workers\": {\"threads\": 2, \"waitSeconds\": 5}, \"seed\": 3",
        "\"augmentation\"; \"download\": \"http://mirror/\", \"augmentation\"",
      })
  void shouldAgreeWhenOnlyTheMachineOrTheSpellingDiffers(String written, String changed) {
    Optional<String> found = terms(FILE).firstDifference(terms(FILE.replace(written, changed)));

    assertEquals(Optional.empty(), found);
  }

  @Test
  void shouldAgreeWhenADefaultIsWrittenOut() {
    JobTerms silent = terms("{}");
    JobTerms explicit =
        terms("{\"data\": {\"name\": \"digits\"}, \"workers\": {\"sampler\": \"distributed\"}}");

    assertEquals(Optional.empty(), silent.firstDifference(explicit));
  }

  /** Each of these cuts or encodes partitions differently, or hands out other samples. */
  @ParameterizedTest
  @CsvSource({
    "exchange.overlap, true, false",
    "exchange.type, \"float16\", float32",
    "exchange.partitionElements, 1000, 114432",
    "workers.sampler, \"none\", distributed",
    "workers.dropLast, true, false",
    "servers.count, 2, 1"
  })
  void shouldNameTheKeyWhenMembersWouldNotUnderstandEachOther(
      String key, String value, String otherwise) {
    String[] names = key.split("\\.");
    JobTerms other = terms("{\"%s\": {\"%s\": %s}}".formatted(names[0], names[1], value));

    assertEquals(
        Optional.of("%s: found %s, expected %s".formatted(key, value.replace("\"", ""), otherwise)),
        terms("{}").firstDifference(other));
  }

  @ParameterizedTest
  @CsvSource({
    "serving.port, 8351",
    "stop.minutes, 5",
    "exchange.sharedFolder, \"/other\"",
    "exchange.deadlineMillis, 99000",
    "workers.waitSeconds, 7",
    "dashboard.port, 0",
    "cluster.port, 15999"
  })
  void shouldAgreeWhenOnlyOneMembersOperationDiffers(String key, String value) {
    String[] names = key.split("\\.");
    JobTerms other = terms("{\"%s\": {\"%s\": %s}}".formatted(names[0], names[1], value));

    assertEquals(Optional.empty(), terms("{}").firstDifference(other));
  }

  /** With other optimizers the last bits depend on the engine. */
  @Test
  void shouldRequireOneEngineUnlessAllEnginesStepAlike() {
    String job = "{\"engine\": \"%s\", \"optimizer\": {\"name\": \"%s\"}}";

    assertEquals(
        Optional.empty(),
        terms(job.formatted("dl4j", "sgd")).firstDifference(terms(job.formatted("other", "sgd"))));
    assertEquals(
        Optional.of("engine: found other, expected dl4j"),
        terms(job.formatted("dl4j", "adam"))
            .firstDifference(terms(job.formatted("other", "adam"))));
  }

  /** A stage that tests more often than the others would wait for them. */
  @Test
  void shouldAgreeOnTestsWhenStagesTestThemselves() {
    String stages = "{\"pipeline\": {\"stages\": 2}, \"evaluator\": {\"every\": %d}}";
    String whole = "{\"evaluator\": {\"every\": %d}}";

    assertEquals(
        Optional.of("evaluator.every: found 6, expected 5"),
        terms(stages.formatted(5)).firstDifference(terms(stages.formatted(6))));
    assertEquals(
        Optional.empty(), terms(whole.formatted(5)).firstDifference(terms(whole.formatted(6))));
  }

  private static JobTerms terms(String file) {
    return JobTerms.of(JobConfig.read("test", new JsonObject(file)));
  }
}
