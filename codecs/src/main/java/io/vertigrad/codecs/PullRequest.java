package io.vertigrad.codecs;

import java.util.Objects;

/**
 * Asks for one partition's parameters without offering a gradient.
 *
 * @param id identity of the exchange; an evaluator uses rank -1
 * @param layout hash of the parameter layout
 * @param minimumVersion the answer waits until the partition has reached this version; 0 for now
 */
public record PullRequest(ExchangeId id, long layout, long minimumVersion) implements Frame {

  /** Refuses numbers that no frame can carry. */
  public PullRequest {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("minimumVersion", minimumVersion, 0);
  }
}
