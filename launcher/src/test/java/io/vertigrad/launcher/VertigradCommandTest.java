package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

class VertigradCommandTest {

  @TempDir private Path folder;

  @Test
  void shouldNotShowThePatternThatDividesPlacesInTheHelp() {
    CommandRun run = CommandRun.of("resume", "--help");

    assertTrue(run.out().contains("--skip=PLACE"), run.out());
    assertFalse(run.out().contains("?<="), run.out());
  }

  @Test
  void shouldPrintHelpWhenNoCommandIsGiven() {
    CommandRun run = CommandRun.of();

    assertEquals(0, run.exit());
    assertTrue(run.out().contains("vertigrad train --processes"), run.out());
    assertTrue(run.out().contains("Exit codes: 0 well, 1 the job failed"), run.out());
  }

  @Test
  void shouldDescribeEachCommandInAWholeSentence() {
    String help = CommandRun.of("--help").out();
    String commands = help.substring(help.indexOf("Commands:"), help.indexOf("Try:"));

    List<String> descriptions =
        Stream.of(commands.split("\n  (?=\\S)")).skip(1).map(String::strip).toList();

    assertEquals(14, descriptions.size(), commands);
    descriptions.forEach(command -> assertTrue(command.endsWith("."), command));
  }

  /** Java 17 crashes while it archives a lambda whose interface has a class file of Java 5. */
  @Test
  void shouldImplementNoInterfaceOfPicocliByALambda() {
    CommandLine line = VertigradCommand.commandLine("train");

    assertFalse(line.getParameterExceptionHandler().getClass().isHidden());
    assertFalse(line.getExecutionExceptionHandler().getClass().isHidden());
  }

  @Test
  void shouldNameEveryVersionWhenAskedForIt() {
    CommandRun run = CommandRun.of("--version");

    assertEquals(0, run.exit());
    for (String name : new String[] {"dl4j", "hazelcast", "java", "vertigrad", "vertx"}) {
      assertTrue(run.out().matches("(?s).*\n  " + name + " \\S+.*"), run.out());
    }
  }

  @Test
  void shouldSuggestOptionWhenItIsMisspelt() {
    assertRefused(
        "vertigrad: Unknown option: '--stpes', did you mean --steps?;"
            + " see ./vertigrad train --help",
        "train",
        "--stpes");
  }

  @Test
  void shouldSuggestCommandWhenItIsMisspelt() {
    assertRefused(
        "vertigrad: Unmatched argument at index 0: 'trian', did you mean train?;"
            + " see ./vertigrad --help",
        "trian");
  }

  @Test
  void shouldExpectANumberWhenStepsIsNone() {
    assertRefused(
        "vertigrad: Invalid value for option '--steps': 'many' is not a long;"
            + " see ./vertigrad train --help",
        "train",
        "--steps",
        "many");
  }

  @Test
  void shouldExpectAllWhenProcessesHasAnotherValue() {
    CommandRun result = CommandRun.of("train", "--processes=some");

    assertEquals(2, result.exit());
    assertTrue(
        result.err().contains("found some, expected --processes=all or --processes alone"),
        result.err());
  }

  @Test
  void shouldReadTheArgumentBehindProcessesAsTheJobFile() {
    CommandRun result = CommandRun.of("train", "--processes", "no-such-job.json");

    assertEquals(2, result.exit());
    assertTrue(result.err().contains("no-such-job.json: "), result.err());
  }

  @Test
  void shouldNameMissingOptionsWhenNodeGetsNone() {
    assertRefused(
        "vertigrad: Missing required option: '--role=ROLE'; see ./vertigrad node --help", "node");
  }

  @Test
  void shouldNameThePortOfANodeWhenItIsTakenOrNone() throws IOException {
    String[] node = {"node", "127.0.0.1:1", "--role", "worker", "--port"};
    List<String> words = new ArrayList<>(List.of(node));
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      words.add(String.valueOf(taken.getLocalPort()));
      CommandRun run = CommandRun.of(words.toArray(String[]::new));

      assertEquals(2, run.exit(), run.err());
      assertTrue(
          run.err()
              .contains("--port %d: cannot listen on 127.0.0.1".formatted(taken.getLocalPort())),
          run.err());
    }
    words.set(words.size() - 1, "65536");
    CommandRun none = CommandRun.of(words.toArray(String[]::new));
    assertEquals(2, none.exit());
    assertTrue(none.err().contains("--port 65536: expected 0 to 65535"), none.err());
  }

  @Test
  void shouldListRolesWhenRoleIsUnknown() {
    assertRefused(
        "vertigrad: --role boss: expected one of server, worker, evaluator, stage",
        "node",
        "--role",
        "boss",
        "--join",
        "127.0.0.1");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "node --role worker --job [::1]:15801",
        "node --role worker --job ::1",
        "node --role worker --join [::1] --job conf/digits-sync.json",
        "node --role worker --host ::1 --join 127.0.0.1",
        "train --listen --host ::1",
        "train --set cluster.members=[\"::1\"]",
        "train --set cluster.discovery=seeds:[::1]:15701",
        "train --set dashboard.host=::1",
        "train --set serving.host=::1"
      })
  void shouldRefuseIpv6AtEveryEntrance(String arguments) {
    CommandRun run = CommandRun.of(arguments.split(" "));

    assertEquals(2, run.exit(), run.err());
    assertTrue(run.err().contains("IPv6 is not supported"), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
  }

  @Test
  void shouldExpectAnAddressOrADiscoveryWhenNodeGetsAJobFileAlone() {
    assertRefused(
        "vertigrad: node: found no address, expected --job with the HOST:PORT that train prints, or"
            + " a job file with --join, cluster.members or cluster.discovery",
        "node",
        "--role",
        "worker",
        "--job",
        "conf/digits-sync.json");
  }

  @Test
  void shouldReportHowToStartAJobWhenThereIsNoneToJoin() {
    assertRefused(
        "vertigrad: nothing answers at 127.0.0.1:1; start the job there first, with"
            + " ./vertigrad train --listen",
        "node",
        "--role",
        "worker",
        "--join",
        "127.0.0.1:1");
  }

  @Test
  void shouldNameTheKeyWhenAssignmentIsUnknown() {
    assertRefused(
        "vertigrad: conf/digits-sync.json with --set workers.cout=3: workers.cout is not a known"
            + " key, did you mean \"count\"?",
        "train",
        "--set",
        "workers.cout=3");
  }

  @ParameterizedTest
  @CsvSource({
    "lr, optimizer.learningRate",
    "learning_rate, optimizer.learningRate",
    "optimizer.lr, learningRate",
    "workers.lr, optimizer.learningRate",
    "batch_size, workers.batch",
    "workers.batchSize, batch",
    "num_epochs, epochs",
    "weight_decay, optimizer.weightDecay",
    "optimizer.lr_scheduler, schedule.name",
    "dataset, data.name",
  })
  void shouldNameOurKeyWhenAnotherProgramsNameIsGiven(String key, String ours) {
    assertRefused(
        "vertigrad: conf/digits-sync.json with --set %s=1: %s is not a known key, did you mean \"%s\"?"
            .formatted(key, key, ours),
        "train",
        "--set",
        key + "=1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"--lr", "--lr=0.1", "--learning-rate"})
  void shouldSuggestTheKeyForAnotherProgramsOption(String option) {
    CommandRun run = CommandRun.of("train", option);

    assertEquals(2, run.exit());
    assertTrue(
        run.err().contains(", did you mean --set optimizer.learningRate=VALUE?; see "), run.err());
  }

  @Test
  void shouldNameTheNeededHeapBeforeBuildingATooLargeModel() {
    Path run = folder.resolve("run");

    CommandRun refused = train("--set", "model.name=mlp", "--set", "model.hidden=1000000");

    assertEquals(2, refused.exit(), refused.out());
    assertTrue(
        refused
            .err()
            .matches(
                "(?s)vertigrad: conf/digits-sync.json with .*: this JVM needs at least [0-9,]+ MiB of"
                    + " heap: 795,000,010 parameters of 3,032 MiB .copies: server 2, saved model"
                    + " 1. and samples of 10 MiB; the heap has [0-9,]+ MiB: set"
                    + " VERTIGRAD_JAVA_OPTS=-Xmx[0-9]+m, give each role a JVM of its own with"
                    + " --processes, or train a smaller model\\R"),
        refused.err());
    assertTrue(Files.notExists(run), "nothing was begun");
  }

  @Test
  void shouldRefuseForeignAddressWhenTlsIsOff() {
    CommandRun run = CommandRun.of("train", "--listen", "--host", "192.0.2.1");

    assertEquals(2, run.exit());
    assertTrue(
        run.err()
            .startsWith("vertigrad: cluster.host 192.0.2.1 can be reached from other machines"),
        run.err());
  }

  @Test
  void shouldRefuseARunFolderThatIsInUse() throws IOException {
    Files.createFile(folder.resolve("precious"));

    assertRefused(
        "vertigrad: --run-dir %s: there is something in it already, expected a new or empty folder"
            .formatted(folder),
        "train",
        "--run-dir",
        folder.toString());
  }

  @Test
  void shouldNameTheMissingFolderWhenDataIsNotThere() {
    Path missing = folder.resolve("nothing");

    CommandRun run = train("--data", missing.toString(), "--set", "data.name=mnist");

    assertEquals(2, run.exit());
    assertTrue(run.err().startsWith("vertigrad: " + missing), run.err());
    assertEquals(1, run.err().lines().count(), run.err());
  }

  @Test
  void shouldNameTheModelsWhenItIsUnknown() {
    CommandRun run = train("--set", "model.name=covnet");

    assertEquals(2, run.exit());
    assertTrue(
        run.err()
            .startsWith(
                "vertigrad: conf/digits-sync.json with --set model.name=covnet: model.name is wrong:"
                    + " model 'covnet' is not known, expected one of convnet, mlp, resnet20"),
        run.err());
    assertEquals(1, run.err().lines().count(), run.err());
  }

  @Test
  void shouldNameTheStrategiesWhenItIsUnknown() {
    assertRefused(
        "vertigrad: conf/digits-sync.json with --set strategy.name=snyc: strategy.name is \"snyc\","
            + " expected one of allreduce, async, clippedGossip, diloco, dpsgd, federated, gossip,"
            + " local, robust, ssp, sync, or the class name of a StrategyProvider",
        "train",
        "--set",
        "strategy.name=snyc",
        "--run-dir",
        folder.resolve("run").toString());
  }

  private CommandRun train(String... options) {
    String[] arguments = new String[options.length + 3];
    arguments[0] = "train";
    arguments[1] = "--run-dir";
    arguments[2] = folder.resolve("run").toString();
    System.arraycopy(options, 0, arguments, 3, options.length);
    return CommandRun.of(arguments);
  }

  private static void assertRefused(String line, String... arguments) {
    CommandRun run = CommandRun.of(arguments);

    assertEquals(line, run.err().strip());
    assertEquals(2, run.exit());
  }
}
