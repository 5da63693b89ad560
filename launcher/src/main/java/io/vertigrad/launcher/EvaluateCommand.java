package io.vertigrad.launcher;

import io.vertigrad.compute.Score;
import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.ModelText;
import io.vertigrad.training.SavedModel;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Implements {@code vertigrad evaluate}, which tests a trained model on its whole test set. */
@Command(
    name = "evaluate",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Tests a trained model on the whole test set: accuracy, loss, hash of the parameters.",
      "Of a run on its own data these are the figures of the run's last test."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class EvaluateCommand implements Callable<Integer> {

  @Mixin private ModelOptions model;

  @Option(names = "--json", description = "Prints one JSON object instead.")
  private boolean json;

  @Override
  public Integer call() {
    RunLog.leaveConsole();
    ModelOptions.Chosen chosen = model.chosen();
    int topK = chosen.job().evaluator().topK();
    try (SavedModel saved = chosen.open()) {
      Score score = saved.evaluate(topK);
      String hash = saved.parametersHash();
      System.out.println(
          json
              ? ModelText.testJson(score, topK, hash, saved.classNames()).encode()
              : ModelText.test(score, topK, hash, chosen.job().data().name(), saved.classNames()));
    }
    return ExitStatus.OK;
  }
}
