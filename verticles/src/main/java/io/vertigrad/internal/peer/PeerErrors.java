package io.vertigrad.internal.peer;

import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.Refusal;
import io.vertigrad.internal.exchange.ExchangeException.UnansweredException;
import io.vertigrad.internal.exchange.SenderIdentity;
import io.vertigrad.strategy.Tag;

/** Creates a worker's error messages about its peers. */
record PeerErrors(PeerFrames line, SenderIdentity self, long layout) {

  /** Returns the reply to a frame that was damaged in transit or is not a peer's frame. */
  Malformed ofAnotherKind(Frame found) {
    return found instanceof Malformed malformed
        ? malformed
        : new Malformed("kind", 0, String.valueOf(found), "a peer's frame");
  }

  Refusal foreign(PeerFrames.Opened frame) {
    return new Refusal(
        frame.id(),
        Refusal.Reason.WRONG_LAYOUT,
        "%s: found a piece of layout %016x from %s, expected %016x; use the same job file"
            .formatted(
                line.name(self.rank()), frame.layout(), line.name(frame.id().worker()), layout));
  }

  /** Returns the error for a peer that sent nothing within the limit. */
  UnansweredException unanswered(int rank, int incarnation, Tag tag, int epoch, long limitMillis) {
    return new UnansweredException(
        ("%s (incarnation %d): nothing from %s (incarnation %d) for %d ms: %s of membership epoch"
                + " %d. See that worker's log, or raise exchange.deadlineMillis")
            .formatted(
                line.name(self.rank()),
                self.incarnation(),
                line.name(rank),
                incarnation,
                limitMillis,
                line.describe(tag),
                epoch));
  }
}
