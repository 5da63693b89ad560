package io.vertigrad.codecs.settings;

import java.util.Collection;
import java.util.Optional;

/** The known key that a mistyped one most likely meant. */
final class NearestKey {

  private NearestKey() {}

  /**
   * The key at the smallest edit distance, the first of equals, if that is at most two or a third
   * of the letters.
   */
  static Optional<String> of(String typed, Collection<String> known) {
    int best = Math.max(2, typed.length() / 3) + 1;
    String nearest = null;
    for (String candidate : known) {
      int distance = editDistance(typed, candidate);
      if (distance < best) {
        best = distance;
        nearest = candidate;
      }
    }
    return Optional.ofNullable(nearest);
  }

  /** Insertions, deletions and replacements that make {@code a} of {@code b} (Levenshtein). */
  static int editDistance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int substitution = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        diagonal = row[j];
        row[j] = Math.min(substitution, 1 + Math.min(row[j], row[j - 1]));
      }
    }
    return row[b.length()];
  }
}
