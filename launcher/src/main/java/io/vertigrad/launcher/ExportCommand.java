package io.vertigrad.launcher;

import io.vertigrad.launcher.job.ExitStatus;
import io.vertigrad.launcher.job.InputException;
import io.vertigrad.launcher.run.RunLog;
import io.vertigrad.launcher.terminal.ModelText;
import io.vertigrad.training.SavedModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/**
 * Implements {@code vertigrad export}, which writes a trained model in a format of other programs.
 */
@Command(
    name = "export",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Writes a trained model in a format of other programs.",
      "Formats: safetensors (every engine), onnx and dl4j (engine dl4j), and with the engine"
          + " pytorch pt2 (a file of torch.export) or pt (TorchScript), as the model was."
    },
    parameterListHeading = "%nParameters:%n",
    optionListHeading = "%nOptions:%n")
final class ExportCommand implements Callable<Integer> {

  /** The default file name for each format, used when {@code --output} is not given. */
  private static final Map<String, String> FORMATS =
      new TreeMap<>(
          Map.of(
              SavedModel.SAFETENSORS,
              "exported.safetensors",
              "onnx",
              "exported.onnx",
              "dl4j",
              "exported.zip",
              "pt",
              "exported.pt",
              "pt2",
              "exported.pt2"));

  @Mixin private ModelOptions model;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "FORMAT",
      description = "safetensors, onnx, dl4j, pt2 or pt.")
  private String format;

  @Option(
      names = "--output",
      paramLabel = "FILE",
      description = "The file, instead of one beside the model.")
  private Path output;

  @Option(names = "--force", description = "Replaces the file where there is one already.")
  private boolean force;

  @Override
  public Integer call() throws IOException {
    RunLog.leaveConsole();
    String wanted = format.toLowerCase(Locale.ROOT);
    if (!FORMATS.containsKey(wanted)) {
      throw new InputException(
          "--to %s: is no format, expected one of %s"
              .formatted(format, String.join(", ", FORMATS.keySet())));
    }
    ModelOptions.Chosen chosen = model.chosen();
    Path target = output == null ? chosen.file().resolveSibling(FORMATS.get(wanted)) : output;
    if (Files.exists(target) && !force) {
      throw new InputException(
          "%s: is there already; name another file with --output FILE, or replace it with --force"
              .formatted(target));
    }
    Path folder = target.toAbsolutePath().getParent();
    if (!Files.isDirectory(folder)) {
      throw new InputException("%s: there is no such folder for --output".formatted(folder));
    }
    try (SavedModel saved = chosen.open()) {
      saved.export(wanted, target);
      System.out.println(
          ModelText.written(target, wanted, Files.size(target), saved.parametersHash()));
    }
    return ExitStatus.OK;
  }
}
