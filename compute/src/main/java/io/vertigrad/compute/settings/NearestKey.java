package io.vertigrad.compute.settings;

import java.util.Collection;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** Finds the known key for a mistyped key, or for the name of a key in other programs. */
final class NearestKey {

  /** The library's result for a distance above the threshold. */
  private static final int TOO_FAR = -1;

  /** Paths of keys by their names in other programs, in lower case and without separators. */
  private static final Map<String, String> USUAL_NAMES = usualNames();

  private NearestKey() {}

  /**
   * Returns the known key that other programs call by this name, otherwise the key at the smallest
   * Levenshtein distance, the first of several, if that is at most two or at most a third of the
   * letters.
   *
   * @param typed the unknown key
   * @param section where it was found, its keys separated by dots; empty for the root
   * @param known the keys of that section
   * @return a known key, or the path of a key in another section
   */
  static Optional<String> of(String typed, String section, Collection<String> known) {
    String prefix = section.isEmpty() ? "" : section + ".";
    Optional<String> same =
        known.stream().filter(key -> plain(key).equals(plain(typed))).findFirst();
    Optional<String> usual = usual(typed);
    Optional<String> here =
        usual
            .filter(path -> path.startsWith(prefix))
            .map(path -> path.substring(prefix.length()))
            .filter(key -> known.contains(key.replaceFirst("\\..*", "")));
    return same.or(() -> here).or(() -> nearest(typed, known)).or(() -> usual);
  }

  /** Returns the path of the key that other programs call by this name. */
  static Optional<String> usual(String name) {
    return Optional.ofNullable(USUAL_NAMES.get(plain(name)));
  }

  private static Optional<String> nearest(String typed, Collection<String> known) {
    LevenshteinDistance distance = new LevenshteinDistance(Math.max(2, typed.length() / 3));
    int best = Integer.MAX_VALUE;
    String nearest = null;
    for (String candidate : known) {
      int edits = distance.apply(typed, candidate);
      if (edits != TOO_FAR && edits < best) {
        best = edits;
        nearest = candidate;
      }
    }
    return Optional.ofNullable(nearest);
  }

  private static String plain(String name) {
    return name.replaceAll("[-_]", "").toLowerCase(Locale.ROOT);
  }

  private static Map<String, String> usualNames() {
    Map<String, String> names = new TreeMap<>();
    put(names, "optimizer.learningRate", "lr", "learningRate", "eta", "alpha", "stepSize");
    put(names, "optimizer.momentum", "momentum");
    put(names, "optimizer.weightDecay", "weightDecay", "wd");
    put(names, "optimizer.l2", "l2");
    put(names, "optimizer.name", "optim");
    put(names, "optimizer.schedule.name", "lrScheduler", "scheduler");
    put(names, "workers.batch", "batch", "batchSize", "bs", "miniBatch", "miniBatchSize");
    put(names, "workers.count", "numWorkers", "worldSize", "nProc", "nProcs", "numProcesses");
    put(names, "workers.device", "device", "gpu");
    put(names, "epochs", "epoch", "numEpochs", "nEpochs", "maxEpochs");
    put(names, "steps", "step", "numSteps", "maxSteps", "iterations", "iters", "maxIter");
    put(names, "seed", "randomSeed", "manualSeed", "rngSeed");
    put(names, "data.name", "dataset");
    put(names, "data.directory", "dataDir", "dataRoot", "dataPath");
    put(names, "model.name", "net", "network", "arch", "architecture");
    put(names, "model.loss", "loss", "criterion", "lossFunction");
    put(names, "model.precision", "precision", "dtype", "amp", "mixedPrecision", "bf16");
    put(names, "strategy.name", "algorithm", "aggregation");
    put(names, "engine", "backend", "framework");
    return names;
  }

  private static void put(Map<String, String> names, String path, String... all) {
    for (String name : all) {
      names.put(plain(name), path);
    }
  }
}
