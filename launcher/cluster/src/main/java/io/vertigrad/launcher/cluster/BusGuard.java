package io.vertigrad.launcher.cluster;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.MessageImpl;
import io.vertx.core.eventbus.impl.clustered.ClusteredMessage;
import io.vertx.core.internal.buffer.BufferInternal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Adds a proof to every message that this process sends to an address of one job, and refuses
 * messages from other processes to such an address without a valid proof. Senders and consumers do
 * nothing for it.
 *
 * <p>The proof is a header: sender, number, time of day, and an HMAC over these, the address, the
 * codec's name and the bytes of the body as they travel. The receiver checks it before it decodes
 * the body. Replies carry no proof: their address is random, and only the requester knows it. A
 * message that stays in this process never crosses a socket, and is not checked. Any thread may use
 * it.
 */
final class BusGuard {

  /** Failure code of the answer to a request without a valid proof. */
  static final int NOT_PROVED = 403;

  /** Failure code of the answer to a request that seems to be old. */
  static final int NOT_NEW = 409;

  /** Header with the proof. */
  static final String PROOF = "vertigrad-proof";

  private static final Logger LOG = LoggerFactory.getLogger(BusGuard.class);
  private static final String PURPOSE = "message of the event bus";
  private static final int ID_BYTES = 16;
  private static final int FIELDS = 4;

  /** Besides the codecs of frames, the only codecs whose bytes are decoded at a job's address. */
  private static final Set<MessageCodec<?, ?>> PLAIN =
      Set.of(
          CodecManager.NULL_MESSAGE_CODEC,
          CodecManager.BUFFER_MESSAGE_CODEC,
          CodecManager.JSON_OBJECT_MESSAGE_CODEC);

  private final String prefix;
  private final Set<String> metricsAddresses;
  private final JobSecret secret;
  private final Set<String> localFrameAddresses;
  private final String sender = HexFormat.of().formatHex(RandomBytes.of(ID_BYTES));
  private final ReplayFilter replays = new ReplayFilter(System.currentTimeMillis());
  private final PeerWarnings warnings = new PeerWarnings(LOG::warn);
  private final Map<String, AtomicLong> sent = new ConcurrentHashMap<>();
  private final Map<String, AtomicLong> published = new ConcurrentHashMap<>();

  private BusGuard(Addresses job, JobSecret secret, Set<String> localFrameAddresses) {
    this.prefix = Addresses.PREFIX + job.job() + ".";
    this.metricsAddresses = Set.of(job.metrics(), job.metricsRequests());
    this.secret = secret;
    this.localFrameAddresses = localFrameAddresses;
  }

  /**
   * Installs the guard on the event bus, until this Vert.x closes.
   *
   * @param localFrameAddresses the addresses at which this process receives frames: what it sends
   *     there stays here
   */
  static void install(
      Vertx vertx, Addresses job, JobSecret secret, Set<String> localFrameAddresses) {
    BusGuard guard = new BusGuard(job, secret, localFrameAddresses);
    vertx.eventBus().addOutboundInterceptor(guard::addProof);
    vertx.eventBus().addInboundInterceptor(guard::checkProof);
  }

  private boolean guards(String address) {
    return address != null && (address.startsWith(prefix) || metricsAddresses.contains(address));
  }

  private void addProof(DeliveryContext<Object> context) {
    Message<Object> message = context.message();
    String address = message.address();
    if (guards(address)) {
      message.headers().remove(PROOF);
      MessageCodec<?, ?> codec = ((MessageImpl<?, ?>) message).codec();
      if (isDecoded(codec) && !localFrameAddresses.contains(address)) {
        message.headers().add(PROOF, proof(address, context.send(), codec, context.body()));
      }
    }
    context.next();
  }

  private String proof(String address, boolean send, MessageCodec<?, ?> codec, Object body) {
    long number =
        (send ? sent : published)
            .computeIfAbsent(address, first -> new AtomicLong())
            .getAndIncrement();
    String head = sender + ":" + number + ":" + System.currentTimeMillis();
    byte[] code;
    if (body instanceof Frame frame) {
      FrameBytes bytes = FrameCodecs.encode(frame);
      code = code(head, address, send, codec, bytes.header(), bytes.payload());
    } else {
      code = code(head, address, send, codec, encoded(codec, body));
    }
    return head + ":" + Base64.getEncoder().encodeToString(code);
  }

  private void checkProof(DeliveryContext<Object> context) {
    Message<Object> message = context.message();
    String address = message.address();
    if (!guards(address)
        || !(message instanceof ClusteredMessage<?, ?> fromWire)
        || !fromWire.isFromWire()) {
      context.next();
      return;
    }
    Optional<Refusal> refusal = refusal(fromWire, address, context.send());
    if (refusal.isEmpty()) {
      context.next();
      return;
    }
    String why = "a message to %s is refused: %s".formatted(address, refusal.get().why());
    // No field of an unproved message reliably identifies its sender.
    warnings.warn("senders without proof", why, System.nanoTime());
    if (message.replyAddress() != null) {
      message.fail(refusal.get().code(), why);
    }
  }

  private record Refusal(int code, String why) {}

  private static Optional<Refusal> notProved(String why) {
    return Optional.of(new Refusal(NOT_PROVED, why));
  }

  private Optional<Refusal> refusal(ClusteredMessage<?, ?> message, String address, boolean send) {
    String proof = message.headers().get(PROOF);
    if (proof == null) {
      return notProved("it carries no proof of the job's secret (cluster.secretFile)");
    }
    int end = proof.lastIndexOf(':');
    String[] fields = proof.split(":", FIELDS + 1);
    if (fields.length != FIELDS) {
      return notProved("its proof is malformed");
    }
    MessageCodec<?, ?> codec = message.codec();
    if (!isDecoded(codec)) {
      return notProved(
          "its body is encoded as \"%s\", expected a frame, a JSON object or a buffer"
              .formatted(codec.name()));
    }
    try {
      byte[] found = Base64.getDecoder().decode(fields[FIELDS - 1]);
      byte[] expected = code(proof.substring(0, end), address, send, codec, WireBody.of(message));
      if (!JobSecret.equal(found, expected)) {
        return notProved("its sender has another secret (cluster.secretFile)");
      }
      return replays
          .refusal(
              new ReplayFilter.Source(fields[0], address, send),
              Long.parseLong(fields[1]),
              Long.parseLong(fields[2]),
              System.currentTimeMillis(),
              System.nanoTime())
          .map(why -> new Refusal(NOT_NEW, why));
    } catch (IllegalArgumentException malformed) {
      return notProved("its proof is malformed");
    }
  }

  private static boolean isDecoded(MessageCodec<?, ?> codec) {
    return PLAIN.contains(codec) || FrameCodecs.isOfFrame(codec);
  }

  /**
   * Returns the code of a body in one piece; the body of a frame is split into header and payload.
   */
  private byte[] code(
      String head, String address, boolean send, MessageCodec<?, ?> codec, ByteBuffer body) {
    int header =
        FrameCodecs.isOfFrame(codec) ? Math.min(FrameLimits.HEADER_BYTES, body.remaining()) : 0;
    int start = body.position();
    return code(
        head,
        address,
        send,
        codec,
        body.slice(start, header),
        body.slice(start + header, body.remaining() - header));
  }

  private byte[] code(
      String head,
      String address,
      boolean send,
      MessageCodec<?, ?> codec,
      ByteBuffer header,
      ByteBuffer payload) {
    String about = head + (send ? ":sent:" : ":published:") + codec.name() + ":" + address;
    ByteBuffer text = ByteBuffer.wrap(about.getBytes(StandardCharsets.UTF_8));
    return secret.sign(PURPOSE, text, header, payload);
  }

  private static ByteBuffer encoded(MessageCodec<?, ?> codec, Object body) {
    @SuppressWarnings("unchecked")
    MessageCodec<Object, ?> encoder = (MessageCodec<Object, ?>) codec;
    Buffer wire = Buffer.buffer();
    encoder.encodeToWire(wire, body);
    return WireBody.bytes(wire, 0);
  }

  /**
   * A second reader of a message from another process. Its codec takes the place of the message's
   * own and returns the bytes of the body undecoded; the message itself stays undecoded too.
   */
  private static final class WireBody extends ClusteredMessage<Object, Object> {

    private static final MessageCodec<Object, Object> UNDECODED = new Undecoded();

    private WireBody(ClusteredMessage<Object, Object> message) {
      super(message);
      messageCodec = UNDECODED;
    }

    static ByteBuffer of(ClusteredMessage<?, ?> message) {
      @SuppressWarnings("unchecked")
      ClusteredMessage<Object, Object> any = (ClusteredMessage<Object, Object>) message;
      ByteBuffer bytes = (ByteBuffer) new WireBody(any).body();
      // An interceptor of the application may have decoded the body before.
      return bytes == null ? encoded(message.codec(), message.body()) : bytes;
    }

    static ByteBuffer bytes(Buffer wire, int start) {
      return ((BufferInternal) wire).getByteBuf().nioBuffer(start, wire.length() - start);
    }

    private static final class Undecoded implements MessageCodec<Object, Object> {

      @Override
      public void encodeToWire(Buffer wire, Object body) {
        throw new UnsupportedOperationException("only reads");
      }

      @Override
      public Object decodeFromWire(int start, Buffer wire) {
        return bytes(wire, start);
      }

      @Override
      public Object transform(Object body) {
        return body;
      }

      @Override
      public String name() {
        return "vertigrad.undecoded";
      }

      @Override
      public byte systemCodecID() {
        return -1;
      }
    }
  }

  /**
   * Recognizes copies of recorded messages; their proofs are valid, so only their numbers and times
   * reveal them.
   *
   * <p>A sender numbers its messages to each address, and the filter accepts a number once. The
   * first message of an unknown sender must have been sent after this filter was created, with a
   * tolerance for different clocks. So a message that was recorded in an earlier run cannot
   * introduce a sender.
   *
   * <p>A published message reaches each consumer of a process separately, so its copies are
   * accepted for half a minute. In that time a copy changes nothing: pauses are numbered,
   * memberships carry an epoch, and a stop is final. Any thread may use it.
   */
  private static final class ReplayFilter {

    /** Most milliseconds between a new sender's clock and this one's. */
    private static final long MAX_CLOCK_DIFFERENCE_MILLIS = 60_000;

    /** Most milliseconds by which a new sender's message may seem older than this filter. */
    private static final long MAX_EARLY_MILLIS = 5_000;

    private static final long COPIES_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int MOST_SENDERS = 4_000;

    /** Numbers that are tracked; a number further behind the highest is refused. */
    private static final int WINDOW = 1_024;

    private final long beganMillis;
    private final Map<Source, Window> senders = new LinkedHashMap<>();

    /**
     * The sender and address for which messages are numbered.
     *
     * @param sent true for messages to one consumer, false for published ones
     */
    record Source(String sender, String address, boolean sent) {}

    private static final class Window {
      private final long[] numbers = new long[WINDOW];
      private final long[] arrived;
      private long highest = -1;

      private Window(boolean sent) {
        arrived = sent ? null : new long[WINDOW];
        Arrays.fill(numbers, -1);
      }
    }

    /**
     * Creates a filter that has seen no message.
     *
     * @param nowMillis the time of day
     */
    ReplayFilter(long nowMillis) {
      beganMillis = nowMillis;
    }

    /**
     * Checks a message whose code was correct.
     *
     * @param number number of the message, from 0
     * @param stampMillis the time of day by the sender's clock
     * @param nowMillis the time of day by this process's clock
     * @param nowNanos time of {@code System.nanoTime()}
     * @return why the message is refused; empty when it is new
     */
    synchronized Optional<String> refusal(
        Source from, long number, long stampMillis, long nowMillis, long nowNanos) {
      Window window = senders.get(from);
      if (window == null) {
        Optional<String> refusal = clockRefusal(stampMillis, nowMillis);
        if (refusal.isPresent()) {
          return refusal;
        }
        if (senders.size() == MOST_SENDERS) {
          senders.remove(senders.keySet().iterator().next());
        }
        window = new Window(from.sent());
        senders.put(from, window);
      }
      return isNew(window, number, nowNanos)
          ? Optional.empty()
          : Optional.of("it is a copy of one that was here before");
    }

    private Optional<String> clockRefusal(long stampMillis, long nowMillis) {
      if (Math.abs(nowMillis - stampMillis) > MAX_CLOCK_DIFFERENCE_MILLIS) {
        return Optional.of(
            String.format(
                Locale.ROOT,
                "its sender's clock says %s, %.0f s from this one's: it is old, or the clocks of the"
                    + " machines have to be set",
                Instant.ofEpochMilli(stampMillis),
                (nowMillis - stampMillis) / 1e3));
      }
      return stampMillis < beganMillis - MAX_EARLY_MILLIS
          ? Optional.of("it was sent before this process began to listen")
          : Optional.empty();
    }

    private static boolean isNew(Window window, long number, long nowNanos) {
      if (number < 0 || number <= window.highest - WINDOW) {
        return false;
      }
      int place = (int) (number % WINDOW);
      if (window.numbers[place] == number) {
        return window.arrived != null && nowNanos - window.arrived[place] < COPIES_NANOS;
      }
      window.numbers[place] = number;
      window.highest = Math.max(window.highest, number);
      if (window.arrived != null) {
        window.arrived[place] = nowNanos;
      }
      return true;
    }
  }
}
