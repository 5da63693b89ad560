package io.vertigrad.observability;

import io.opentelemetry.sdk.trace.IdGenerator;

/**
 * Gives the root span of a round the round's trace id, and all other spans random ids. Pass it to
 * {@code SdkTracerProvider.builder().setIdGenerator}. Without it, the root span of a round names a
 * parent that is never exported, which some programs show as a warning.
 */
@SuppressWarnings("exports")
public final class RoundTraceIds implements IdGenerator {

  private final IdGenerator others;

  /**
   * Creates a generator.
   *
   * @param others generates all other ids, for example {@link IdGenerator#random()}
   */
  public RoundTraceIds(IdGenerator others) {
    this.others = others;
  }

  @Override
  public String generateSpanId() {
    return others.generateSpanId();
  }

  @Override
  public String generateTraceId() {
    String round = RoundTraces.NEXT_ROOT.get();
    return round == null ? others.generateTraceId() : round;
  }
}
