package io.vertigrad.internal.cluster;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.internal.security.PeerWarnings;
import io.vertigrad.internal.security.RandomBytes;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Context;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.Message;
import io.vertx.core.eventbus.MessageCodec;
import io.vertx.core.eventbus.impl.CodecManager;
import io.vertx.core.eventbus.impl.MessageImpl;
import io.vertx.core.eventbus.impl.clustered.ClusteredMessage;
import io.vertx.core.internal.buffer.BufferInternal;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
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
 * <p>The proof is a header: sender, number, time by the sender's own stopwatch, and an HMAC over
 * these, the address, the codec's name and the bytes of the body as they travel. The receiver
 * checks it before it decodes the body. Replies carry no proof: their address is random, and only
 * the requester knows it. A message that stays in this process never crosses a socket, and is not
 * checked.
 *
 * <p>No clock of a machine counts. A receiver that does not know a sender yet asks it for a proof
 * that it lives and for its stopwatch, and holds its messages until it has answered. Any thread may
 * use it.
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
  private static final String ANSWER_PURPOSE = "sender on the event bus";
  private static final String SENDERS = "senders.";
  private static final int ID_BYTES = 16;
  private static final int FIELDS = 4;

  /** Most messages, and bytes in them, that wait here for the answers of their senders. */
  private static final int MOST_HELD = 4_096;

  private static final long MOST_HELD_BYTES = 64L << 20;

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
  private final long beganNanos = System.nanoTime();
  private final ReplayFilter replays = new ReplayFilter(beganNanos);
  private final PeerWarnings warnings = new PeerWarnings(LOG::warn);
  private final Map<String, AtomicLong> sent = new ConcurrentHashMap<>();
  private final Map<String, AtomicLong> published = new ConcurrentHashMap<>();
  private final Vertx vertx;

  /** Senders that have not answered yet, or whose held messages are still being delivered. */
  private final Map<String, Newcomer> newcomers = new HashMap<>();

  private int held;
  private long heldBytes;

  private BusGuard(Vertx vertx, Addresses job, JobSecret secret, Set<String> localFrameAddresses) {
    this.vertx = vertx;
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
    BusGuard guard = new BusGuard(vertx, job, secret, localFrameAddresses);
    vertx.eventBus().addOutboundInterceptor(guard::addProof);
    vertx.eventBus().addInboundInterceptor(guard::checkProof);
    vertx.eventBus().consumer(guard.addressOf(guard.sender), guard::answer);
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
    String head = sender + ":" + number + ":" + ownMillis();
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
    Optional<Proof> proof = Optional.empty();
    String unproved = "its proof is malformed";
    try {
      proof = Optional.of(proved(fromWire, address, context.send()));
    } catch (IllegalArgumentException wrong) {
      unproved = wrong instanceof NumberFormatException ? unproved : wrong.getMessage();
    }
    if (proof.isEmpty()) {
      refuse(message, NOT_PROVED, unproved);
    } else if (address.equals(addressOf(sender))) {
      // A copy of a question gets the same kind of answer: it tells nobody anything new.
      context.next();
    } else {
      admit(new Held(context, vertx.getOrCreateContext(), proof.get()));
    }
  }

  /** What a valid proof says about its message. */
  private record Proof(ReplayFilter.Source source, long number, long stampMillis, int bytes) {}

  /** Returns the proof of a message; throws with the reason when it is not valid. */
  private Proof proved(ClusteredMessage<?, ?> message, String address, boolean send) {
    String proof = message.headers().get(PROOF);
    if (proof == null) {
      throw notProved("it carries no proof of the job's secret (cluster.secretFile)");
    }
    String[] fields = proof.split(":", FIELDS + 1);
    if (fields.length != FIELDS) {
      throw notProved("its proof is malformed");
    }
    MessageCodec<?, ?> codec = message.codec();
    if (!isDecoded(codec)) {
      throw notProved(
          "its body is encoded as \"%s\", expected a frame, a JSON object or a buffer"
              .formatted(codec.name()));
    }
    ByteBuffer body = WireBody.of(message);
    String head = proof.substring(0, proof.lastIndexOf(':'));
    if (!JobSecret.equal(decoded(fields[FIELDS - 1]), code(head, address, send, codec, body))) {
      throw notProved("its sender has another secret (cluster.secretFile)");
    }
    return new Proof(
        new ReplayFilter.Source(fields[0], address, send),
        Long.parseLong(fields[1]),
        Long.parseLong(fields[2]),
        body.remaining());
  }

  private static IllegalArgumentException notProved(String why) {
    return new IllegalArgumentException(why);
  }

  private static byte[] decoded(String code) {
    try {
      return Base64.getDecoder().decode(code);
    } catch (IllegalArgumentException malformed) {
      return new byte[0];
    }
  }

  private void refuse(Message<Object> message, int code, String reason) {
    String why = "a message to %s is refused: %s".formatted(message.address(), reason);
    // No field of an unproved message reliably identifies its sender.
    warnings.warn("senders without proof", why, System.nanoTime());
    if (message.replyAddress() != null) {
      message.fail(code, why);
    }
  }

  /** A message whose code is right, and the context on which it is delivered. */
  private record Held(DeliveryContext<Object> delivery, Context context, Proof proof) {}

  /** A sender that has not answered yet, with its messages in the order of their arrival. */
  private static final class Newcomer {
    private final Set<Held> messages = new LinkedHashSet<>();
    private boolean answered;
  }

  /**
   * Delivers a message, unless it is a copy; holds it while its sender has not answered, or while
   * earlier ones of that sender are still held.
   */
  private void admit(Held message) {
    String from = message.proof().source().sender();
    boolean isNew = false;
    synchronized (newcomers) {
      Newcomer newcomer = newcomers.get(from);
      if (newcomer != null || !replays.knows(from)) {
        if (held >= MOST_HELD || heldBytes + message.proof().bytes() > MOST_HELD_BYTES) {
          refuse(message.delivery().message(), NOT_NEW, "too many wait here for their senders");
          return;
        }
        isNew = newcomer == null;
        newcomer = newcomers.computeIfAbsent(from, first -> new Newcomer());
        newcomer.messages.add(message);
        held++;
        heldBytes += message.proof().bytes();
        if (newcomer.answered) {
          deliverLater(from, newcomer, message);
        }
        if (!isNew) {
          return;
        }
      }
    }
    if (isNew) {
      ask(from, AnswerWait.NONE);
    } else {
      deliver(message);
    }
  }

  private void deliver(Held message) {
    Proof proof = message.proof();
    Optional<String> refusal =
        replays.refusal(proof.source(), proof.number(), proof.stampMillis(), System.nanoTime());
    if (refusal.isEmpty()) {
      message.delivery().next();
    } else {
      refuse(message.delivery().message(), NOT_NEW, refusal.get());
    }
  }

  /** Delivers on the message's own context, behind those that were held there before it. */
  private void deliverLater(String from, Newcomer newcomer, Held message) {
    message
        .context()
        .runOnContext(
            now -> {
              synchronized (newcomers) {
                release(newcomer, message);
                if (newcomer.messages.isEmpty()) {
                  newcomers.remove(from);
                }
              }
              deliver(message);
            });
  }

  private void release(Newcomer newcomer, Held message) {
    newcomer.messages.remove(message);
    held--;
    heldBytes -= message.proof().bytes();
  }

  /**
   * Asks a sender for a proof that it lives, again and again until it answers or the time is up.
   */
  private void ask(String from, AnswerWait before) {
    long askedNanos = System.nanoTime();
    byte[] nonce = RandomBytes.of(ID_BYTES);
    vertx
        .eventBus()
        .<JsonObject>request(
            addressOf(from),
            new JsonObject().put("nonce", nonce),
            new DeliveryOptions().setSendTimeout(AnswerWait.QUESTION_MILLIS))
        .map(reply -> stopwatch(from, nonce, reply.body()))
        .onSuccess(millis -> answered(from, millis))
        .onFailure(
            error -> {
              AnswerWait wait = before.plus(System.nanoTime() - askedNanos);
              if (wait.isOver()) {
                silent(from);
              } else {
                vertx.setTimer(wait.pauseMillis(), again -> ask(from, wait));
              }
            });
  }

  /** Answers another process that asks whether this one lives. */
  private void answer(Message<JsonObject> question) {
    String millis = Long.toString(ownMillis());
    byte[] nonce = question.body().getBinary("nonce");
    question.reply(
        new JsonObject().put("time", millis).put("code", answerCode(sender, nonce, millis)));
  }

  private byte[] answerCode(String from, byte[] nonce, String millis) {
    ByteBuffer text = ByteBuffer.wrap((from + ":" + millis).getBytes(StandardCharsets.UTF_8));
    return secret.sign(ANSWER_PURPOSE, ByteBuffer.wrap(nonce), text);
  }

  private long stopwatch(String from, byte[] nonce, JsonObject answer) {
    String millis = answer.getString("time");
    if (!JobSecret.equal(answer.getBinary("code"), answerCode(from, nonce, millis))) {
      throw notProved("its sender has another secret (cluster.secretFile)");
    }
    return Long.parseLong(millis);
  }

  private void answered(String from, long millis) {
    synchronized (newcomers) {
      replays.introduce(from, millis, System.nanoTime());
      Newcomer newcomer = newcomers.get(from);
      newcomer.answered = true;
      newcomer.messages.forEach(message -> deliverLater(from, newcomer, message));
    }
  }

  private void silent(String from) {
    List<Held> left;
    synchronized (newcomers) {
      Newcomer newcomer = newcomers.remove(from);
      left = List.copyOf(newcomer.messages);
      left.forEach(message -> release(newcomer, message));
    }
    String why =
        "its sender has not answered for %s s: it has ended, or this is a copy of an old message"
            .formatted(TimeUnit.MILLISECONDS.toSeconds(AnswerWait.LIMIT_MILLIS));
    left.forEach(message -> refuse(message.delivery().message(), NOT_NEW, why));
  }

  /** The address at which a sender answers. */
  private String addressOf(String id) {
    return prefix + SENDERS + id;
  }

  private long ownMillis() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - beganNanos);
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
   * How long a sender has not answered. A question counts for at most the time in which it was to
   * be answered: if more has passed, this process did not run, and the answer may be here by now.
   *
   * @param waitedMillis time that counts so far
   * @param pauseMillis time until the next question
   */
  record AnswerWait(long waitedMillis, long pauseMillis) {

    /** The time before the first question. */
    static final AnswerWait NONE = new AnswerWait(0, 0);

    /**
     * A sender that has not answered for this long has ended, or its message is an old copy. It is
     * longer than {@code exchange.evictMillis}: a sender that does not run is evicted first.
     */
    static final long LIMIT_MILLIS = 15_000;

    static final long QUESTION_MILLIS = 1_000;
    private static final long FIRST_PAUSE_MILLIS = 25;

    /** Returns the wait after another question without an answer. */
    AnswerWait plus(long elapsedNanos) {
      long counted = Math.min(QUESTION_MILLIS, TimeUnit.NANOSECONDS.toMillis(elapsedNanos));
      return new AnswerWait(
          waitedMillis + pauseMillis + counted,
          Math.min(QUESTION_MILLIS, Math.max(FIRST_PAUSE_MILLIS, 2 * pauseMillis)));
    }

    boolean isOver() {
      return waitedMillis >= LIMIT_MILLIS;
    }
  }

  /**
   * Recognizes copies of recorded messages; their proofs are valid, so only their numbers and times
   * reveal them.
   *
   * <p>A sender numbers its messages to each address, and the filter accepts a number once. The
   * first message to an address must have been sent after this filter was created, by the sender's
   * stopwatch, which the sender has shown when it proved that it lives. So a message that was
   * recorded before cannot be the first.
   *
   * <p>A published message reaches each consumer of a process separately, so its copies are
   * accepted for half a minute. In that time a copy changes nothing: pauses are numbered,
   * memberships carry an epoch, and a stop is final. Any thread may use it.
   */
  static final class ReplayFilter {

    private static final long COPIES_NANOS = TimeUnit.SECONDS.toNanos(30);
    private static final int MOST_SENDERS = 4_000;

    /** Numbers that are tracked; a number further behind the highest is refused. */
    private static final int WINDOW = 1_024;

    /** By sender: the time here, by {@code System.nanoTime()}, at which its stopwatch began. */
    private final Map<String, Long> stopwatches = new LinkedHashMap<>();

    private final Map<Source, Window> windows = new LinkedHashMap<>();
    private long beganNanos;

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
     * @param nowNanos time of {@code System.nanoTime()}, as below
     */
    ReplayFilter(long nowNanos) {
      beganNanos = nowNanos;
    }

    /** Returns whether a sender has proved that it lives. */
    synchronized boolean knows(String sender) {
      return stopwatches.containsKey(sender);
    }

    /**
     * Adds a sender that has proved that it lives.
     *
     * @param stampMillis its stopwatch, not long ago
     */
    synchronized void introduce(String sender, long stampMillis, long nowNanos) {
      if (stopwatches.size() == MOST_SENDERS) {
        forgetFirst(stopwatches, nowNanos);
      }
      stopwatches.put(sender, nowNanos - TimeUnit.MILLISECONDS.toNanos(stampMillis));
    }

    /**
     * Checks a message whose code was correct.
     *
     * @param from a sender that is known
     * @param number number of the message, from 0
     * @param stampMillis the sender's stopwatch when it sent the message
     * @return why the message is refused; empty when it is new
     */
    synchronized Optional<String> refusal(
        Source from, long number, long stampMillis, long nowNanos) {
      Window window = windows.get(from);
      if (window == null) {
        Long watch = stopwatches.get(from.sender());
        if (watch == null || watch + TimeUnit.MILLISECONDS.toNanos(stampMillis) - beganNanos < 0) {
          return Optional.of("it was sent before this process began to listen");
        }
        if (windows.size() == MOST_SENDERS) {
          forgetFirst(windows, nowNanos);
        }
        window = new Window(from.sent());
        windows.put(from, window);
      }
      return isNew(window, number, nowNanos)
          ? Optional.empty()
          : Optional.of("it is a copy of one that was here before");
    }

    /** After it has forgotten something, this filter knows no more than a new one. */
    private void forgetFirst(Map<?, ?> known, long nowNanos) {
      known.remove(known.keySet().iterator().next());
      beganNanos = nowNanos;
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
