package io.vertigrad.internal.transport;

import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shared memory of a stream: a segment that this end owns, a segment of the other end, and the
 * messages by which they agree on them.
 *
 * <p>The sender of the stream asks, with the boot id of its kernel; a listener on the same kernel
 * agrees. From then on either end may offer a segment, when it first has a payload that is long
 * enough. The other end opens the segment and writes its code into it. The owner finds the code in
 * its own mapping, so neither end has to trust an address. Before that, after any failure, and when
 * no slot is free, payloads go over the stream.
 *
 * <p>Any thread may call {@link #write} and {@link #release}, and the thread that receives messages
 * {@link #payload} and {@link #free}; only the connection's event loop calls the other methods.
 */
final class SharedConnection {

  private static final Logger LOG = LoggerFactory.getLogger(SharedConnection.class);

  /** Smallest payload in bytes that is shared; shorter ones are as fast behind their header. */
  static final int MIN_SHARED_BYTES = 4 << 10;

  private static final int OFFER_BYTES = 2 * Integer.BYTES;

  private static final PeerWarnings FAILED = new PeerWarnings(LOG::info);
  private static final AtomicBoolean LOGGED = new AtomicBoolean();

  private final Optional<SharedMemory> memory;
  private final FrameChannel channel;
  private final JobSecret secret;
  private final String name;
  private final Promise<Void> established = Promise.promise();
  private final AtomicBoolean offered = new AtomicBoolean();
  private OwnedSegment offering;
  private boolean asked;
  private boolean offersAtOnce;
  private boolean opening;
  private boolean closed;
  private volatile boolean agreed;
  private volatile OwnedSegment ownSegment;
  private volatile PeerSegment peerSegment;

  /**
   * Creates a connection that shares nothing yet.
   *
   * @param memory the shared memory of this process; empty if it shares none
   * @param secret secret of the job that the stream belongs to
   * @param name name of the stream for log messages
   */
  SharedConnection(
      Optional<SharedMemory> memory, FrameChannel channel, JobSecret secret, String name) {
    this.memory = memory;
    this.channel = channel;
    this.secret = secret;
    this.name = name;
  }

  /** Completes when this end's segment is in use; fails when it never will be. */
  Future<Void> established() {
    return established.future();
  }

  /**
   * Asks the listener for shared memory, on a stream that has just been opened.
   *
   * @param atOnce whether to offer a segment before there is a payload for it
   */
  void ask(boolean atOnce) {
    asked = true;
    channel.rings().count();
    offersAtOnce = atOnce;
    if (memory.isEmpty() || memory.get().host().isEmpty()) {
      established.tryFail("this process shares no memory");
    } else {
      channel.write(Kind.SHARE, 0, memory.get().host());
    }
  }

  /**
   * Copies a payload into this end's segment, where the other end reads it.
   *
   * @param exchange number of the request
   * @return where the payload is, or null when it has to go over the stream
   */
  SlotReference write(long exchange, ByteBuffer payload) {
    if (!agreed || payload.remaining() < MIN_SHARED_BYTES) {
      return null;
    }
    OwnedSegment segment = ownSegment;
    if (segment == null) {
      offer();
      return null;
    }
    SlotReference at = segment.write(exchange, payload);
    if (at != null) {
      memory.orElseThrow().countPayload();
    }
    return at;
  }

  /** Frees the payload of a request that the other end has answered. */
  void release(long exchange) {
    OwnedSegment segment = ownSegment;
    if (segment != null) {
      segment.release(exchange);
    }
  }

  /** Returns the payload that a message refers to, or null if there is none. */
  ByteBuffer payload(SlotReference at) {
    return peerSegment == null ? null : peerSegment.payload(at);
  }

  /** Frees a payload that is no longer read. */
  void free(SlotReference at) {
    peerSegment.free(at);
  }

  /**
   * Handles a message about segments.
   *
   * @return null, or what is wrong with the message
   */
  String onMessage(StreamMessage message) {
    return switch (message.kind()) {
      case SHARE -> agree(message.text());
      case SEGMENT -> open(message);
      case MAPPED -> mapped();
      default -> notMapped(message.text());
    };
  }

  /** Removes what is left of an offer; called after the connection has ended. */
  void close() {
    closed = true;
    established.tryFail("the connection was closed");
    remove(offering);
  }

  /** Offers a segment; later calls do nothing. */
  void offer() {
    if (!offered.compareAndSet(false, true)) {
      return;
    }
    SharedMemory here = memory.orElseThrow();
    here.blocking(here::create)
        .onFailure(noRoom -> channel.run(() -> fail(noRoom.getMessage())))
        .onSuccess(segment -> channel.run(() -> offer(segment)));
  }

  private void offer(OwnedSegment segment) {
    offering = segment;
    if (closed) {
      remove(segment);
      return;
    }
    byte[] of = segment.name().getBytes(StandardCharsets.US_ASCII);
    channel.write(
        Kind.SEGMENT,
        0,
        ByteBuffer.allocate(OFFER_BYTES + of.length)
            .order(ByteOrder.LITTLE_ENDIAN)
            .putInt(segment.layout().slots())
            .putInt(SegmentLayout.SLOT_BYTES)
            .put(of)
            .array());
  }

  private String agree(String host) {
    if (agreed) {
      return "a second question for shared memory";
    }
    boolean same = memory.isPresent() && memory.get().host().equals(host) && !host.isEmpty();
    if (same) {
      agreed = true;
      if (!asked) {
        channel.rings().count();
        channel.write(Kind.SHARE, 0, host);
      } else if (offersAtOnce) {
        offer();
      }
    } else {
      channel.write(
          Kind.NOT_MAPPED,
          0,
          memory.isPresent() ? "this is another host" : "this process shares no memory");
    }
    return null;
  }

  private String open(StreamMessage message) {
    ByteBuffer fields = message.body().slice().order(ByteOrder.LITTLE_ENDIAN);
    if (!agreed || opening || fields.remaining() < OFFER_BYTES) {
      return "a segment that was not asked for";
    }
    opening = true;
    int slots = fields.getInt();
    int slotBytes = fields.getInt();
    String of = StandardCharsets.US_ASCII.decode(fields).toString();
    memory
        .orElseThrow()
        .blocking(() -> proved(of, slots, slotBytes))
        .onFailure(none -> channel.write(Kind.NOT_MAPPED, 0, String.valueOf(none.getMessage())))
        .onSuccess(
            segment ->
                channel.run(
                    () -> {
                      peerSegment = segment;
                      if (!asked) {
                        channel.use(segment.peerToOwnerRing(), segment.ownerToPeerRing());
                      }
                      channel.write(Kind.MAPPED, 0, "");
                    }));
    return null;
  }

  private PeerSegment proved(String of, int slots, int slotBytes) throws IOException {
    if (slotBytes != SegmentLayout.SLOT_BYTES) {
      throw new IOException(
          "slots of %s bytes, expected %s".formatted(slotBytes, SegmentLayout.SLOT_BYTES));
    }
    PeerSegment segment = memory.orElseThrow().open(of, new SegmentLayout(slots));
    segment.prove(secret, of);
    return segment;
  }

  private String mapped() {
    if (offering == null || ownSegment != null) {
      return "word of a segment that was not offered";
    }
    OwnedSegment segment = offering;
    offering = null;
    boolean proved = segment.isProved(secret);
    remove(segment)
        .onComplete(
            (done, failure) ->
                channel.run(
                    () -> {
                      if (!proved) {
                        fail("the other process has mapped other memory of that name");
                      } else if (failure != null) {
                        fail(failure.toString());
                      } else {
                        use(segment);
                      }
                    }));
    return null;
  }

  private void use(OwnedSegment segment) {
    ownSegment = segment;
    if (asked) {
      channel.use(segment.ownerToPeerRing(), segment.peerToOwnerRing());
    }
    established.tryComplete();
    if (LOGGED.compareAndSet(false, true)) {
      LOG.info(
          "tensors to other processes of this host go through memory in {}", memory.orElseThrow());
    }
  }

  private String notMapped(String why) {
    remove(offering);
    offering = null;
    fail(why);
    return null;
  }

  private void fail(String why) {
    if (established.tryFail(why) && offered.get()) {
      FAILED.warn(
          "segments",
          "no shared memory for the stream %s (%s): its tensors go over the stream"
              .formatted(name, why),
          System.nanoTime());
    }
  }

  private Future<Void> remove(OwnedSegment segment) {
    return segment == null
        ? Future.succeededFuture()
        : memory
            .orElseThrow()
            .blocking(
                () -> {
                  segment.unlink();
                  return null;
                });
  }
}
