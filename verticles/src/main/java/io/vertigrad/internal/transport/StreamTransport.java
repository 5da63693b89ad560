package io.vertigrad.internal.transport;

import io.vertigrad.codecs.Frame;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Completable;
import io.vertx.core.Vertx;

/**
 * Sends frames over TCP streams, one per address and process, with payloads in shared memory when
 * both ends are on one host. The event bus only looks addresses up, and carries frames within this
 * process.
 *
 * <p>Why not the bus for all: between processes it copies a message four times and moves about a
 * quarter of what a TCP connection does ({@code benchmarks/README.md}).
 */
final class StreamTransport implements Transport {

  private final BusTransport bus;
  private final Streams streams;
  private final TransportKind kind;

  /**
   * Creates the transport to other processes.
   *
   * @param kind whether payloads may, or must, go through shared memory
   */
  StreamTransport(Vertx vertx, Streams streams, TransportKind kind) {
    this.kind = kind;
    this.bus = new BusTransport(vertx.eventBus());
    this.streams = streams;
  }

  @Override
  public void request(String address, Frame frame, long limitMillis, Completable<Frame> answered) {
    if (streams.isHere(address)) {
      bus.request(address, frame, limitMillis, answered);
      return;
    }
    streams
        .ways()
        .to(address, kind)
        .onSuccess(way -> way.request(address, frame, limitMillis, answered))
        .onFailure(answered::fail);
  }

  @Override
  public void prepare(String address) {
    if (!streams.isHere(address)) {
      streams.ways().to(address, kind);
    }
  }
}
