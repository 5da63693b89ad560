package io.vertigrad.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests pipelines from the command line. */
@Tag("slow")
class PipelineTrainingTest {

  @TempDir private Path folder;

  @Test
  void shouldFailWithTheReasonWhenACutIsImpossible() {
    CommandRun run = CommandRun.of(arguments("wrong", "--set", "pipeline.cuts=[\"fc\"]"));

    assertEquals(2, run.exit());
    assertTrue(run.err().contains("no stage can end with fc: it is the last layer"), run.err());
  }

  @Test
  void shouldRefuseToPlayAStageWhenTheJobHasNone() {
    CommandRun run =
        CommandRun.of("node", "--role", "stage", "--join", "127.0.0.1", "../conf/digits-sync.json");

    assertEquals(2, run.exit());
    assertTrue(run.err().contains("has no pipeline; use --role worker"), run.err());
  }

  private String[] arguments(String run, String... more) {
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "train",
                "../conf/digits-pipeline.json",
                "--run-dir",
                folder.resolve(run).toString(),
                "--steps",
                "30",
                "--set",
                "evaluator.every=30"));
    arguments.addAll(List.of(more));
    return arguments.toArray(String[]::new);
  }
}
