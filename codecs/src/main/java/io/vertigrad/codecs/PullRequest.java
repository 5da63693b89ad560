package io.vertigrad.codecs;

import java.util.Objects;

/**
 * Requests the parameters of one partition without sending a gradient.
 *
 * @param id identity of the exchange; an evaluator uses rank -1
 * @param layout hash of the parameter layout
 * @param minimumVersion the server answers once the partition has reached this version; 0 for an
 *     immediate answer
 */
public record PullRequest(ExchangeId id, long layout, long minimumVersion) implements Frame {

  /** Checks that a frame can carry the numbers. */
  public PullRequest {
    Objects.requireNonNull(id, "id");
    FrameLimits.requireAtLeast("minimumVersion", minimumVersion, 0);
  }
}
