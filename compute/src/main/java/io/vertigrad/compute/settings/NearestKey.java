package io.vertigrad.compute.settings;

import java.util.Collection;
import java.util.Optional;
import org.apache.commons.text.similarity.LevenshteinDistance;

/** The known key that a mistyped one most likely meant. */
final class NearestKey {

  /** What the library answers above the threshold. */
  private static final int TOO_FAR = -1;

  private NearestKey() {}

  /**
   * The key at the smallest Levenshtein distance, the first of equals, if that is at most two or a
   * third of the letters.
   */
  static Optional<String> of(String typed, Collection<String> known) {
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
}
