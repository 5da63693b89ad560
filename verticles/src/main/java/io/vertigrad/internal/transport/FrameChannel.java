package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.ReferenceCountUtil;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameBytes;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.FrameLimits;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import io.vertigrad.job.JobSecret;
import io.vertx.core.Future;
import io.vertx.core.internal.net.NetSocketInternal;
import io.vertx.core.net.NetSocket;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One end of a connection: sends and receives messages.
 *
 * <p>It writes from pooled memory and reads the channel's own buffers, because the buffers of a
 * plain socket would copy each byte once more in either direction. Any thread may write.
 */
final class FrameChannel implements RingConnection.Channel {

  private static final Logger LOG = LoggerFactory.getLogger(FrameChannel.class);
  private static final int SHARED_BODY_BYTES = FrameLimits.HEADER_BYTES + SlotReference.BYTES;

  private final NetSocketInternal socket;
  private final ByteBufAllocator allocator;
  private final SharedConnection shared;
  private final Doorbell.Ringer ringer = new Doorbell.Ringer();
  private LoopDoorbell doorbell;
  private volatile boolean local;

  private RingConnection rings;
  private Consumer<StreamMessage> messageHandler;
  private Consumer<String> faultHandler;
  private Runnable activityListener;

  /**
   * Creates one end of a stream.
   *
   * @param sharing the shared memory of this process; empty if it shares none
   * @param secret secret of the job that the stream belongs to
   * @param name name of the stream for log messages
   */
  FrameChannel(NetSocket socket, Optional<SharedMemory> sharing, JobSecret secret, String name) {
    this.socket = (NetSocketInternal) socket;
    this.allocator = this.socket.channelHandlerContext().alloc();
    this.shared = new SharedConnection(sharing, this, secret, name);
  }

  /** Returns the shared memory of this connection. */
  SharedConnection shared() {
    return shared;
  }

  /**
   * Starts to pass every message to {@code messageHandler}, and returns the reader that assembles
   * them. If something cannot be read, {@code faultHandler} is called once and nothing follows.
   *
   * @param lends see {@link StreamMessageReader}
   */
  StreamMessageReader listen(
      Consumer<StreamMessage> messageHandler,
      Consumer<String> faultHandler,
      Runnable activityListener,
      boolean lends) {
    this.messageHandler = messageHandler;
    this.activityListener = activityListener;
    this.rings = new RingConnection(this, this::onRingMessage, lends);
    this.faultHandler =
        what -> {
          rings.close();
          faultHandler.accept(what);
        };
    StreamMessageReader reader = new StreamMessageReader(this::onMessage, this.faultHandler, lends);
    if (lends && !socket.isSsl()) {
      InPlaceReader.on(socket.channelHandlerContext().channel(), reader::bodyBuffer);
    }
    socket.messageHandler(
        piece -> {
          try {
            activityListener.run();
            reader.read((ByteBuf) piece);
          } finally {
            ReferenceCountUtil.release(piece);
          }
        });
    return reader;
  }

  private void onMessage(StreamMessage message) {
    switch (message.kind()) {
      case SHARE, SEGMENT, MAPPED, NOT_MAPPED -> {
        String wrong = shared.onMessage(message);
        if (wrong != null) {
          faultHandler.accept(wrong);
        }
      }
      case WAKE -> read();
      case REQUEST, ANSWER, FAILURE, SHARED_REQUEST, SHARED_ANSWER ->
          rings.onStreamMessage(() -> onFrame(message));
      default -> messageHandler.accept(message);
    }
  }

  private void onRingMessage(StreamMessage message) {
    activityListener.run();
    if (message.kind() == null) {
      faultHandler.accept("a message of no kind in shared memory");
      return;
    }
    switch (message.kind()) {
      case REQUEST, ANSWER, SHARED_REQUEST, SHARED_ANSWER -> onFrame(message);
      default -> faultHandler.accept(message.kind() + " in shared memory, expected a frame");
    }
  }

  private void onFrame(StreamMessage message) {
    switch (message.kind()) {
      case SHARED_REQUEST -> onSharedFrame(message, Kind.REQUEST);
      case SHARED_ANSWER -> onSharedFrame(message, Kind.ANSWER);
      default -> messageHandler.accept(message);
    }
  }

  private boolean read() {
    try {
      return rings.read();
    } catch (InternalError truncated) {
      faultHandler.accept("shared memory that can no longer be read: " + truncated.getMessage());
      return true;
    }
  }

  /**
   * Receives what has come through shared memory, on a thread that has taken over.
   *
   * @return whether there was anything
   */
  boolean receiveHere() {
    try {
      return read();
    } catch (RuntimeException defect) {
      // Reported where it would have been without taking over.
      run(
          () -> {
            throw defect;
          });
    }
    return true;
  }

  /** See {@link LoopDoorbell#check}. */
  void checkBell() {
    if (doorbell != null) {
      doorbell.check();
    }
  }

  /** Returns whether there are rings, and both ends use one loopback interface. */
  boolean isLocal() {
    return local;
  }

  private boolean isSameHost() {
    return socket.localAddress() != null
        && socket.remoteAddress() != null
        && socket.localAddress().hostAddress() != null
        && socket.localAddress().hostAddress().equals(socket.remoteAddress().hostAddress());
  }

  /** Starts to use rings, with a doorbell for this end's event loop; called on the event loop. */
  void use(MessageRing outgoing, MessageRing incoming) {
    rings.use(outgoing, incoming);
    local = isSameHost();
    if (!local) {
      return;
    }
    try {
      doorbell = new LoopDoorbell(new Doorbell(), rings, this::read);
      doorbell.answerOn(socket.channelHandlerContext().channel().eventLoop());
    } catch (IOException none) {
      LOG.debug("no port to wait at: the stream wakes this end", none);
    }
  }

  /** The receiver of the message must have read or copied its payload when it returns. */
  private void onSharedFrame(StreamMessage message, Kind as) {
    boolean whole = message.body().remaining() == SHARED_BODY_BYTES;
    SlotReference at = whole ? message.reference() : null;
    ByteBuffer payload = whole ? shared.payload(at) : null;
    if (payload == null) {
      faultHandler.accept("%s of a payload that is not there: %s".formatted(message.kind(), at));
      return;
    }
    try {
      messageHandler.accept(
          new StreamMessage(as, message.number(), message.body(), payload, message.lent()));
      shared.free(at);
    } catch (InternalError truncated) {
      faultHandler.accept("shared memory that can no longer be read: " + truncated.getMessage());
    }
  }

  /** Returns the path for short messages through shared memory. */
  RingConnection rings() {
    return rings;
  }

  /** Stops reading from the other end until {@link #resume}. */
  void pause() {
    socket.pause();
    rings.pause();
  }

  /** Continues after {@link #pause}. */
  void resume() {
    socket.resume();
    rings.resume();
  }

  /** Releases the shared memory; called after the connection has ended. */
  void close() {
    rings.close();
    shared.close();
    try {
      ringer.close();
      if (doorbell != null) {
        doorbell.close();
      }
    } catch (IOException harmless) {
      LOG.debug("closing", harmless);
    }
  }

  @Override
  public void wake(int port) {
    if (port == MessageRing.BY_STREAM || !ringer.ring(port)) {
      write(Kind.WAKE);
    }
  }

  @Override
  public void runLater(Runnable task) {
    socket.channelHandlerContext().executor().schedule(task, 1, TimeUnit.MILLISECONDS);
  }

  @Override
  public void run(Runnable task) {
    socket.channelHandlerContext().executor().execute(task);
  }

  void write(Kind kind) {
    write(kind, 0);
  }

  /** Sends a message without a body. */
  Future<Void> write(Kind kind, long number) {
    return send(StreamMessage.of(kind, number, allocator));
  }

  Future<Void> write(Kind kind, long number, String text) {
    return send(StreamMessage.of(kind, number, text, allocator));
  }

  void write(Kind kind, long number, byte[] body) {
    send(StreamMessage.of(kind, number, body, allocator));
  }

  /** Sends a message over the stream, in order with frames. */
  void writeInOrder(Kind kind, long number, String text) {
    rings.sendOverStream(() -> write(kind, number, text));
  }

  /**
   * Sends a request or an answer; its payload goes through shared memory when there is room.
   *
   * @param urgent false for an answer that nobody waits for
   * @return completes when the frame's tensor is no longer read, whether it was sent or not
   */
  Future<Void> write(Kind kind, long number, Frame frame, boolean urgent) {
    if (frame == null) {
      if (!rings.post(kind, number, urgent)) {
        rings.sendOverStream(() -> write(kind, number));
      }
      return Future.succeededFuture();
    }
    FrameBytes bytes = FrameCodecs.unsealed(frame);
    ByteBuffer payload = bytes.payload();
    SlotReference at = shared.write(number, payload);
    if (at == null) {
      ByteBuffer header = bytes.seal(payload).header();
      return rings.post(kind, number, header, payload, urgent)
          ? Future.succeededFuture()
          : writeInOrder(StreamMessage.of(kind, number, bytes, allocator));
    }
    ByteBuffer reference = at.bytes();
    ByteBuffer header = bytes.seal(reference).header();
    Kind as = kind == Kind.REQUEST ? Kind.SHARED_REQUEST : Kind.SHARED_ANSWER;
    if (!rings.post(as, number, header, reference, urgent)) {
      writeInOrder(StreamMessage.of(as, number, header, reference, allocator));
    }
    return Future.succeededFuture();
  }

  private Future<Void> writeInOrder(ByteBuf message) {
    return rings.sendOverStream(() -> send(message));
  }

  private Future<Void> send(ByteBuf message) {
    return socket.writeMessage(message);
  }

  /**
   * Lets a channel read the missing part of a message's body directly to its place, and everything
   * else into the channel's usual buffers.
   *
   * @param delegate the channel's own allocator
   * @param bodyBuffer where the next bytes belong, or null; called on the event loop, and only when
   *     all that was read before has been handled
   */
  private record InPlaceReader(RecvByteBufAllocator delegate, Supplier<ByteBuf> bodyBuffer)
      implements RecvByteBufAllocator {

    /**
     * Installs the allocator on a channel. Call it on the channel's event loop; elsewhere, and for
     * other channel types, it does nothing.
     */
    static void on(Channel channel, Supplier<ByteBuf> bodyBuffer) {
      if (channel instanceof NioSocketChannel && channel.eventLoop().inEventLoop()) {
        RecvByteBufAllocator delegate = channel.config().getRecvByteBufAllocator();
        channel.config().setRecvByteBufAllocator(new InPlaceReader(delegate, bodyBuffer));
      }
    }

    // This handle type is deprecated, but the method to override returns it.
    @SuppressWarnings("deprecation")
    @Override
    public Handle newHandle() {
      return new DelegatingHandle(delegate.newHandle()) {
        private ByteBuf last;

        @Override
        public ByteBuf allocate(ByteBufAllocator allocator) {
          boolean caughtUp = last == null || last.refCnt() == 0;
          ByteBuf here = caughtUp ? bodyBuffer.get() : null;
          last = here == null ? super.allocate(allocator) : here;
          return last;
        }
      };
    }
  }
}
