package io.vertigrad.internal.security;

import io.vertigrad.codecs.Addresses;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.internal.security.ReplayFilter.From;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Vertx;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.eventbus.DeliveryContext;
import io.vertx.core.eventbus.Message;
import io.vertx.core.json.JsonObject;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Proves every message that this process sends to an address of one job, and refuses every message
 * to such an address that is not proved; whoever sends and listens need not know.
 *
 * <p>The proof is a header: sender, number, time of day, and an HMAC over these, the address and
 * the body. Answers have none: they go to an address that is random and known to who asked only. A
 * frame that stays in this process is not worth a code, so it carries a random word that never
 * leaves the process instead. Any thread.
 */
final class BusGuard {

  /** Failure code of the answer to a request whose sender has not proved itself. */
  static final int NOT_PROVED = 403;

  /** Likewise, to one that seems to be old. */
  static final int NOT_NEW = 409;

  /** Header with the proof. */
  static final String PROOF = "vertigrad-proof";

  private static final Logger LOG = LoggerFactory.getLogger(BusGuard.class);
  private static final String PURPOSE = "message of the event bus";
  private static final int ID_BYTES = 16;
  private static final int FIELDS = 4;
  private static final ByteBuffer NOTHING = ByteBuffer.allocate(0);

  private final String prefix;
  private final JobSecret secret;
  private final LocalAddresses local;
  private final String sender = HexFormat.of().formatHex(RandomBytes.of(ID_BYTES));
  private final ReplayFilter replays = new ReplayFilter(System.currentTimeMillis());
  private final PeerWarnings warnings = new PeerWarnings(LOG::warn);
  private final Map<String, AtomicLong> sent = new ConcurrentHashMap<>();
  private final Map<String, AtomicLong> published = new ConcurrentHashMap<>();

  private BusGuard(String prefix, JobSecret secret, LocalAddresses local) {
    this.prefix = prefix;
    this.secret = secret;
    this.local = local;
  }

  /** From now on, until this Vert.x closes. */
  static void install(Vertx vertx, Addresses job, JobSecret secret, LocalAddresses local) {
    BusGuard guard = new BusGuard(Addresses.PREFIX + job.job() + ".", secret, local);
    vertx.eventBus().addOutboundInterceptor(guard::prove);
    vertx.eventBus().addInboundInterceptor(guard::check);
  }

  private void prove(DeliveryContext<Object> context) {
    Message<Object> message = context.message();
    String address = message.address();
    if (address != null && address.startsWith(prefix)) {
      message.headers().remove(PROOF);
      boolean stays = context.body() instanceof Frame && local.isHere(address);
      message
          .headers()
          .add(PROOF, stays ? local.word() : proof(address, context.send(), context.body()));
    }
    context.next();
  }

  private String proof(String address, boolean send, Object body) {
    long number =
        (send ? sent : published)
            .computeIfAbsent(address, first -> new AtomicLong())
            .getAndIncrement();
    String head = sender + ":" + number + ":" + System.currentTimeMillis();
    byte[] code = code(head, address, send, body);
    return head + ":" + Base64.getEncoder().encodeToString(code);
  }

  private void check(DeliveryContext<Object> context) {
    Message<Object> message = context.message();
    String address = message.address();
    if (address == null || !address.startsWith(prefix)) {
      context.next();
      return;
    }
    String proof = message.headers().get(PROOF);
    Optional<Refusal> refusal =
        proof == null
            ? notProved("it carries no proof of the job's secret (cluster.secretFile)")
            : local.isWord(proof) ? Optional.empty() : refusal(context, address, proof);
    if (refusal.isEmpty()) {
      context.next();
      return;
    }
    String why = "a message to %s is refused: %s".formatted(address, refusal.get().why());
    // Nothing in it says reliably whose it is.
    warnings.warn("senders without proof", why, System.nanoTime());
    if (message.replyAddress() != null) {
      message.fail(refusal.get().code(), why);
    }
  }

  private record Refusal(int code, String why) {}

  private static Optional<Refusal> notProved(String why) {
    return Optional.of(new Refusal(NOT_PROVED, why));
  }

  private Optional<Refusal> refusal(DeliveryContext<Object> context, String address, String proof) {
    // Not that of the context, which is null until somebody has asked the message.
    Object body = context.message().body();
    int end = proof.lastIndexOf(':');
    String[] fields = proof.split(":", FIELDS + 1);
    if (fields.length != FIELDS) {
      return notProved("its proof is malformed");
    }
    try {
      byte[] code = Base64.getDecoder().decode(fields[FIELDS - 1]);
      if (!JobSecret.equal(code, code(proof.substring(0, end), address, context.send(), body))) {
        return notProved("its sender has another secret (cluster.secretFile)");
      }
      return replays
          .refusal(
              new From(fields[0], address, context.send()),
              Long.parseLong(fields[1]),
              Long.parseLong(fields[2]),
              System.currentTimeMillis(),
              System.nanoTime())
          .map(why -> new Refusal(NOT_NEW, why));
    } catch (IllegalArgumentException malformed) {
      return notProved("its proof is malformed");
    }
  }

  private byte[] code(String head, String address, boolean send, Object body) {
    ByteBuffer about = text(head + (send ? ":sent:" : ":published:") + address);
    if (body instanceof Frame frame) {
      FrameBytes bytes = FrameCodecs.encode(frame);
      return secret.sign(PURPOSE, about, bytes.header(), bytes.payload());
    }
    return secret.sign(PURPOSE, about, bytes(body));
  }

  private static ByteBuffer bytes(Object body) {
    if (body == null) {
      return NOTHING;
    }
    if (body instanceof JsonObject json) {
      return ByteBuffer.wrap(json.toBuffer().getBytes());
    }
    if (body instanceof Buffer buffer) {
      return ByteBuffer.wrap(buffer.getBytes());
    }
    return text(body.toString());
  }

  private static ByteBuffer text(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }
}
