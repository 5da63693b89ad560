package io.vertigrad.serving.internal;

import io.vertigrad.serving.internal.ModelSource.Found;
import io.vertigrad.serving.internal.ModelSource.TestResult;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * The model that answers among several: the one with the lowest test loss. Only losses of tests on
 * the same samples are compared, those of the newest tested model. If none was tested, the newest.
 *
 * @param found the model
 * @param reason why it was chosen
 */
record ModelChoice(Found found, String reason) {

  private static final Comparator<Found> BY_TIME = Comparator.comparingLong(Found::millis);
  private static final Comparator<Found> BY_LOSS =
      Comparator.comparingDouble(found -> found.candidate().test().orElseThrow().loss());

  /**
   * Chooses.
   *
   * @param all at least one
   */
  static ModelChoice among(List<Found> all) {
    Optional<Found> tested =
        all.stream().filter(found -> found.candidate().test().isPresent()).max(BY_TIME);
    if (tested.isEmpty()) {
      return new ModelChoice(
          all.stream().max(BY_TIME).orElseThrow(),
          all.size() == 1
              ? text(all.get(0))
              : "the newest of %s models without a test".formatted(all.size()));
    }
    TestResult newest = tested.get().candidate().test().orElseThrow();
    List<Found> alike =
        all.stream()
            .filter(found -> found.candidate().test().filter(newest::isLike).isPresent())
            .toList();
    Found best = alike.stream().min(BY_LOSS.thenComparing(BY_TIME.reversed())).orElseThrow();
    StringBuilder reason = new StringBuilder(text(best));
    if (alike.size() > 1) {
      reason.append(", the lowest of ").append(alike.size()).append(" models");
    }
    int others = all.size() - alike.size();
    if (others > 0) {
      reason.append("; not compared: ").append(others).append(" with another test or none");
    }
    return new ModelChoice(best, reason.toString());
  }

  /** Returns a model's test in words. */
  static String text(Found found) {
    return found
        .candidate()
        .test()
        .map(
            test ->
                String.format(
                    Locale.ROOT, "test loss %.4f on %d samples", test.loss(), test.samples()))
        .orElse("no test");
  }
}
