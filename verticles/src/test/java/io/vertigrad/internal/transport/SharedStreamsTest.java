package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.vertigrad.codecs.BorrowedTensor;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.codecs.Malformed;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.ExchangeConfig;
import io.vertigrad.job.JobConfig;
import io.vertigrad.job.JobSecret;
import io.vertigrad.job.TransportKind;
import io.vertx.core.Future;
import io.vertx.core.Vertx;
import io.vertx.core.eventbus.DeliveryOptions;
import io.vertx.core.eventbus.EventBusOptions;
import io.vertx.core.http.ClientAuth;
import io.vertx.core.json.JsonObject;
import io.vertx.core.net.PfxOptions;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Runs both ends of a stream in this process, with segments between them as between two processes.
 */
@Timeout(30)
class SharedStreamsTest {

  private static final String ADDRESS = "shared-streams-test";
  private static final long LIMIT_MILLIS = 10_000;
  private static final int ELEMENTS = 100_000;
  private static final Frame FRAME = frame(1);

  private final Vertx vertx = Vertx.vertx();
  @TempDir private Path folder;
  @TempDir private Path elsewhere;

  @BeforeEach
  void open() {
    assumeTrue(Files.exists(Path.of("/proc/sys/kernel/random/boot_id")), "Linux only");
    FrameCodecs.register(vertx.eventBus());
    openStreams(folder, "auto", 64);
  }

  @AfterEach
  void close() throws IOException {
    await(vertx.close());
    assertEquals(List.of(), files(folder), "nothing should be left behind");
  }

  @Test
  void shouldDeliverPayloadsThroughSharedMemoryWhenBothEndsHaveProvedIt() throws IOException {
    List<Boolean> borrowed = new ArrayList<>();
    borrow(
        frame -> {
          borrowed.add(((PeerPartition) frame).tensor() instanceof BorrowedTensor);
          return Future.succeededFuture(frame(2));
        });
    Transport stream = stream(TransportKind.AUTO);

    untilShared(2, () -> assertEquals(frame(2), ask(stream, FRAME)));
    long before = sharing().payloads();
    for (int i = 0; i < 50; i++) {
      assertEquals(frame(2), ask(stream, FRAME));
    }

    assertEquals(before + 100, sharing().payloads(), "each question and each answer");
    assertTrue(borrowed.stream().allMatch(lent -> lent), "nothing should have been copied");
    assertEquals(List.of(), files(folder), "both have mapped what has no name any more");
  }

  @Test
  @Tag("slow")
  void shouldShareMemoryBesideAStreamWithTls() throws Exception {
    Path store = elsewhere.resolve("store.p12");
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "node",
                "-keyalg",
                "EC",
                "-dname",
                "CN=node",
                "-storetype",
                "PKCS12",
                "-storepass",
                "password",
                "-keystore",
                store.toString())
            .redirectErrorStream(true)
            .start();
    assertEquals(0, keytool.waitFor(), () -> new String(read(keytool.getInputStream())));
    PfxOptions keys = new PfxOptions().setPath(store.toString()).setPassword("password");
    EventBusOptions bus =
        new EventBusOptions()
            .setHost("127.0.0.1")
            .setSsl(true)
            .setKeyCertOptions(keys)
            .setTrustOptions(keys)
            .setClientAuth(ClientAuth.REQUIRED);
    Streams.open(vertx, bus, exchange(folder, "shared", 64));
    borrow(frame -> Future.succeededFuture(answer(frame)));
    Transport stream = stream(TransportKind.SHARED);

    untilShared(2, () -> assertEquals(answer(FRAME), ask(stream, FRAME)));

    for (int i = 0; i < 50; i++) {
      assertEquals(answer(frame(i)), ask(stream, frame(i)));
    }
  }

  @Test
  void shouldCopyFramesForAListenerThatKeepsThem() {
    List<Frame> kept = new ArrayList<>();
    await(
        Transport.listen(
            vertx,
            ADDRESS,
            frame -> {
              kept.add(frame);
              return Future.succeededFuture();
            }));
    Transport stream = stream(TransportKind.AUTO);
    untilShared(1, () -> ask(stream, FRAME));
    kept.clear();

    for (int i = 0; i < 20; i++) {
      ask(stream, frame(i));
    }

    assertEquals(IntStream.range(0, 20).mapToObj(i -> frame(i)).toList(), kept);
  }

  @Test
  void shouldShareNothingWhereTheJobWantsStreams() {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    Transport stream = stream(TransportKind.STREAM);

    assertAnsweredOverTheStream(stream);
  }

  @Test
  void shouldSendSmallPayloadsBehindTheirHeader() {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    Transport stream = stream(TransportKind.SHARED);
    Frame small = frame(Tensor.ofFloats(1, 2, 3));

    assertEquals(small, ask(stream, small));

    assertEquals(0, sharing().payloads());
  }

  @Test
  void shouldUseTheStreamWhileAllSlotsAreTaken() throws Exception {
    CountDownLatch reading = new CountDownLatch(1);
    AtomicInteger received = new AtomicInteger();
    CountDownLatch busy = new CountDownLatch(1);
    borrow(
        frame -> {
          received.incrementAndGet();
          busy.countDown();
          awaitOn(reading);
          return Future.succeededFuture(answer(frame));
        });
    Transport stream = stream(TransportKind.SHARED);
    List<Future<Frame>> answers = new ArrayList<>();
    answers.add(stream.request(ADDRESS, FRAME, LIMIT_MILLIS));
    assertTrue(busy.await(10, TimeUnit.SECONDS));
    long before = sharing().payloads();

    for (int i = 0; i < 40; i++) {
      answers.add(stream.request(ADDRESS, frame(i), LIMIT_MILLIS));
    }
    long through = sharing().payloads() - before;
    reading.countDown();

    // With a window of 1 MiB only six payloads fit, and one of them is being read.
    assertEquals(5, through);
    for (int i = 0; i < 40; i++) {
      assertEquals(answer(frame(i)), await(answers.get(i + 1)));
    }
    assertEquals(41, received.get());
  }

  @Test
  void shouldFreeTheSlotWhenTheAnswerIsNotAFrame() {
    borrow(frame -> Future.failedFuture("no"));
    Transport stream = stream(TransportKind.SHARED);

    for (int i = 0; i < 10; i++) {
      Future<Frame> failing = stream.request(ADDRESS, FRAME, LIMIT_MILLIS);
      assertThrows(CompletionException.class, () -> await(failing));
    }

    assertEquals(10, sharing().payloads());
  }

  @Test
  void shouldFallBackToTheStreamWhenThePeerCannotOpenTheFile() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    openStreams(elsewhere, "auto", 64);
    Transport stream = stream(TransportKind.AUTO);

    assertAnsweredOverTheStream(stream);
    await(() -> filesOf(elsewhere).isEmpty() && filesOf(folder).isEmpty());
  }

  @Test
  void shouldFallBackToTheStreamWhenThereIsNoRoom() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    openStreams(folder, "auto", 1);
    Transport stream = stream(TransportKind.AUTO);

    assertAnsweredOverTheStream(stream);
  }

  private void assertAnsweredOverTheStream(Transport stream) {
    for (int i = 0; i < 20; i++) {
      assertEquals(FRAME, ask(stream, FRAME));
    }
    assertEquals(0, sharing().payloads());
  }

  @Test
  void shouldReportThatRequiredSharedMemoryHasNoRoom() {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    openStreams(folder, "shared", 1);

    String why = failure(streams().to(ADDRESS, TransportKind.SHARED));

    assertTrue(why.contains("exchange.transport is shared"), why);
    assertTrue(why.contains("sharedMebibytes"), why);
  }

  @Test
  void shouldReportWhyRequiredSharedMemoryIsRefusedByThePeer() {
    openStreams(folder, "stream", 64);
    borrow(frame -> Future.succeededFuture(frame.retain()));
    openStreams(folder, "shared", 64);

    String why = failure(streams().to(ADDRESS, TransportKind.SHARED));

    assertTrue(why.contains("shares no memory"), why);
  }

  @Test
  void shouldUseNoSegmentThatWasNotProvedThroughTheMemory() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    try (RawSender sender = new RawSender()) {
      sender.share();
      sender.write(Kind.REQUEST, 1, inline(FRAME));
      assertEquals(Kind.ANSWER, sender.read().kind());
      RawMessage offer = sender.read();
      assertEquals(Kind.SEGMENT, offer.kind());
      sender.write(Kind.MAPPED, 0, new byte[0]);

      for (int i = 2; i < 10; i++) {
        sender.write(Kind.REQUEST, i, inline(FRAME));
        assertEquals(Kind.ANSWER, sender.read().kind(), "its payload is behind its header");
      }
    }
    await(() -> filesOf(folder).isEmpty());
  }

  @Test
  void shouldRemoveItsFileWhenThePeerEndsBeforeMappingIt() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    try (RawSender sender = new RawSender()) {
      sender.share();
      sender.write(Kind.REQUEST, 1, inline(FRAME));
      sender.read();
      assertEquals(Kind.SEGMENT, sender.read().kind());
      assertEquals(1, files(folder).size());
    }

    await(() -> filesOf(folder).isEmpty());
  }

  @Test
  void shouldCloseTheConnectionOnInvalidReferences() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    byte[] reference = new SlotReference(0, 400_000, 1).bytes().array();
    byte[] shared =
        ByteBuffer.allocate(FrameLimits.HEADER_BYTES + SlotReference.BYTES)
            .put(Arrays.copyOf(inline(FRAME), FrameLimits.HEADER_BYTES))
            .put(reference)
            .array();
    for (byte[] body : List.of(shared, new byte[5])) {
      try (RawSender sender = new RawSender()) {
        sender.share();
        sender.write(Kind.SHARED_REQUEST, 1, body);
        assertTrue(sender.isClosed());
      }
    }
    try (RawSender sender = new RawSender()) {
      sender.write(Kind.SEGMENT, 0, new byte[20]);
      assertTrue(sender.isClosed(), "nobody asked");
    }
  }

  @Test
  void shouldOpenNoFileOfAnotherName() throws IOException {
    borrow(frame -> Future.succeededFuture(frame.retain()));
    try (RawSender sender = new RawSender()) {
      sender.share();
      byte[] name = "../../etc/passwd".getBytes(StandardCharsets.US_ASCII);
      sender.write(
          Kind.SEGMENT,
          0,
          ByteBuffer.allocate(8 + name.length)
              .order(ByteOrder.LITTLE_ENDIAN)
              .putInt(4)
              .putInt(SegmentLayout.SLOT_BYTES)
              .put(name)
              .array());

      RawMessage answer = sender.read();
      assertEquals(Kind.NOT_MAPPED, answer.kind());
      assertTrue(answer.text().contains("no name of a segment"), answer.text());
    }
  }

  @Test
  void shouldDetectABitFlipInTheHeaderOrTheReference() {
    FrameBytes bytes = FrameCodecs.unsealed(FRAME);
    ByteBuffer reference = new SlotReference(1, bytes.payload().remaining(), 7).bytes();
    ByteBuffer head =
        ByteBuffer.allocate(FrameLimits.HEADER_BYTES + SlotReference.BYTES)
            .put(bytes.seal(reference).header().duplicate())
            .put(reference)
            .flip();
    assertEquals(FRAME, FrameCodecs.decodeApart(head, bytes.payload(), false));

    for (int bit = 0; bit < 8 * head.limit(); bit++) {
      byte[] flipped = head.array().clone();
      flipped[bit / 8] ^= (byte) (1 << bit % 8);
      Frame found = FrameCodecs.decodeApart(ByteBuffer.wrap(flipped), bytes.payload(), false);
      assertInstanceOf(Malformed.class, found, "bit " + bit);
    }
  }

  /** A hand-written sender that can do what the real one never does. */
  private final class RawSender implements AutoCloseable {

    private final Socket socket;

    RawSender() throws IOException {
      StreamAddress at =
          StreamAddress.fromJson(
              await(
                  vertx
                      .eventBus()
                      .<JsonObject>request(
                          ADDRESS,
                          null,
                          new DeliveryOptions().addHeader(BusListener.ADDRESS_LOOKUP, ""))
                      .map(answer -> answer.body())));
      socket = new Socket(at.host(), at.port());
      socket.setSoTimeout(10_000);
      StreamProof proof = new StreamProof(JobSecret.none(), ADDRESS);
      byte[] nonce = new byte[StreamProof.NONCE_BYTES];
      write(Kind.OPEN, StreamMessage.FORMAT, proof.opening(nonce));
      byte[] challenge = read().body();
      write(Kind.PROOF, 0, proof.proof(nonce, Arrays.copyOf(challenge, StreamProof.NONCE_BYTES)));
    }

    void share() throws IOException {
      write(Kind.SHARE, 0, sharing().host().getBytes(StandardCharsets.US_ASCII));
      assertEquals(Kind.SHARE, read().kind());
    }

    void write(Kind kind, long number, byte[] body) throws IOException {
      socket
          .getOutputStream()
          .write(
              ByteBuffer.allocate(StreamMessage.HEADER_BYTES + body.length)
                  .order(ByteOrder.LITTLE_ENDIAN)
                  .putInt(body.length)
                  .putInt(kind.ordinal())
                  .putLong(number)
                  .put(body)
                  .array());
    }

    RawMessage read() throws IOException {
      ByteBuffer header =
          ByteBuffer.wrap(socket.getInputStream().readNBytes(StreamMessage.HEADER_BYTES))
              .order(ByteOrder.LITTLE_ENDIAN);
      byte[] body = socket.getInputStream().readNBytes(header.getInt(0));
      return new RawMessage(StreamMessage.kind(header.getInt(4)), body);
    }

    boolean isClosed() throws IOException {
      return socket.getInputStream().read() < 0;
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private record RawMessage(Kind kind, byte[] body) {
    String text() {
      return new String(body, StandardCharsets.UTF_8);
    }
  }

  private static byte[] read(InputStream stream) {
    try {
      return stream.readAllBytes();
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private void openStreams(Path shared, String transport, int mebibytes) {
    Streams.open(
        vertx, new EventBusOptions().setHost("127.0.0.1"), exchange(shared, transport, mebibytes));
  }

  private static ExchangeConfig exchange(Path shared, String transport, int mebibytes) {
    JsonObject exchange =
        new JsonObject()
            .put("transport", transport)
            .put("windowBytes", 1 << 20)
            .put("sharedFolder", shared.toString())
            .put("sharedMebibytes", mebibytes);
    return JobConfig.read("test", new JsonObject().put("exchange", exchange)).exchange();
  }

  private void borrow(Function<Frame, Future<Frame>> answers) {
    await(Transport.borrow(vertx, ADDRESS, answers));
  }

  private Streams streams() {
    return Streams.of(vertx).orElseThrow();
  }

  private SharedMemory sharing() {
    return streams().sharing().orElseThrow();
  }

  private Transport stream(TransportKind kind) {
    return await(streams().to(ADDRESS, kind));
  }

  private static Frame ask(Transport stream, Frame frame) {
    return await(stream.request(ADDRESS, frame, LIMIT_MILLIS));
  }

  /**
   * Repeats an exchange until this many payloads are shared; the first ones go over the stream
   * while segments are created.
   */
  private void untilShared(int payloads, Runnable exchange) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    long before;
    do {
      assertTrue(System.nanoTime() < deadline, "nothing was shared");
      before = sharing().payloads();
      exchange.run();
    } while (sharing().payloads() < before + payloads);
  }

  private static Frame frame(float value) {
    float[] values = new float[ELEMENTS];
    Arrays.fill(values, value);
    values[7] = 7;
    return frame(Tensor.copyOf(DataType.FLOAT32, FloatBuffer.wrap(values)));
  }

  private static Frame frame(Tensor tensor) {
    return new PeerPartition(new ExchangeId(1, 2, 3, 4, 5, 6), 7, 0, tensor);
  }

  /**
   * Returns an answer that is as large as the question, so that answers are shared, too, but
   * different.
   */
  private static Frame answer(Frame question) {
    PeerPartition asked = (PeerPartition) question;
    return new PeerPartition(asked.id(), 99, 0, asked.tensor().retain());
  }

  private static byte[] inline(Frame frame) {
    FrameBytes bytes = FrameCodecs.encode(frame);
    return ByteBuffer.allocate(bytes.length()).put(bytes.header()).put(bytes.payload()).array();
  }

  private static void awaitOn(CountDownLatch latch) {
    try {
      assertTrue(latch.await(10, TimeUnit.SECONDS));
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void await(BooleanSupplier condition) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!condition.getAsBoolean()) {
      assertFalse(System.nanoTime() > deadline, "it did not happen in 10 s");
      Thread.onSpinWait();
    }
  }

  private static List<Path> filesOf(Path folder) {
    try {
      return files(folder);
    } catch (IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      return all.toList();
    }
  }

  private static String failure(Future<?> future) {
    CompletionException failed = assertThrows(CompletionException.class, () -> await(future));
    return failed.getCause().getMessage();
  }

  private static <T> T await(Future<T> future) {
    CompletableFuture<T> result = future.toCompletionStage().toCompletableFuture();
    return result.orTimeout(10, TimeUnit.SECONDS).join();
  }
}
