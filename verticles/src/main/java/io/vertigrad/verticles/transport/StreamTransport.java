package io.vertigrad.verticles.transport;

import io.vertigrad.codecs.Frame;
import io.vertx.core.Future;
import io.vertx.core.Vertx;

/**
 * Frames over TCP streams, one per address and process; the event bus only tells where an address
 * is, and carries what stays within this process.
 *
 * <p>Why not the bus for all: between processes it copies a message four times and moves about a
 * quarter of what a TCP connection does ({@code benchmarks/README.md}).
 */
final class StreamTransport implements Transport {

  private final BusTransport bus;
  private final Streams streams;

  StreamTransport(Vertx vertx, Streams streams) {
    this.bus = new BusTransport(vertx.eventBus());
    this.streams = streams;
  }

  @Override
  public Future<Frame> request(String address, Frame frame, long limitMillis) {
    if (streams.isHere(address)) {
      return bus.request(address, frame, limitMillis);
    }
    Future<Transport> way = streams.ways().to(address);
    return way.succeeded()
        ? way.result().request(address, frame, limitMillis)
        : way.compose(found -> found.request(address, frame, limitMillis));
  }
}
