package io.vertigrad.internal.cluster;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFactory;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.socket.DatagramChannel;
import io.netty.channel.socket.InternetProtocolFamily;
import io.netty.util.ReferenceCountUtil;
import io.vertx.core.datagram.DatagramSocketOptions;
import io.vertx.core.net.ClientOptionsBase;
import io.vertx.core.net.NetServerOptions;
import io.vertx.core.spi.transport.Transport;
import java.net.SocketAddress;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;

/**
 * A Vert.x transport in which every connection of the event bus proves the cluster's secret first.
 * The proof comes before TLS, if any, and before Vert.x reads a length.
 *
 * <p>The event bus's server is the first one that a clustered Vert.x opens. Its clients connect to
 * addresses that the cluster manager supplies. Other servers and clients of this Vert.x are
 * unchanged.
 */
final class ProvedTransport implements io.vertx.core.transport.Transport, Transport {

  private final io.vertx.core.transport.Transport plainly;
  private final Transport plain;
  private final ConnectionGuard guard;
  private final Predicate<SocketAddress> isNode;
  private final AtomicBoolean busListens = new AtomicBoolean();

  /**
   * Creates the transport of one clustered Vert.x.
   *
   * @param preferNative as in the options of Vert.x
   * @param isNode returns whether an address is the event bus address of a node of the cluster
   */
  ProvedTransport(ConnectionGuard guard, Predicate<SocketAddress> isNode, boolean preferNative) {
    io.vertx.core.transport.Transport faster =
        preferNative ? io.vertx.core.transport.Transport.nativeTransport() : null;
    this.plainly =
        faster != null && faster.available() ? faster : io.vertx.core.transport.Transport.NIO;
    this.plain = plainly.implementation();
    this.guard = guard;
    this.isNode = isNode;
  }

  @Override
  public void configure(NetServerOptions options, boolean domainSocket, ServerBootstrap server) {
    plain.configure(options, domainSocket, server);
    if (busListens.compareAndSet(false, true)) {
      server.handler(new AcceptedConnections());
    }
  }

  @Override
  public ChannelFactory<? extends Channel> channelFactory(boolean domainSocket) {
    ChannelFactory<? extends Channel> factory = plain.channelFactory(domainSocket);
    return domainSocket
        ? factory
        : () -> {
          Channel channel = factory.newChannel();
          channel.pipeline().addFirst(new ConnectingProof());
          return channel;
        };
  }

  /** Puts the proof first into the pipeline of every connection that a server accepts. */
  private final class AcceptedConnections extends ChannelInboundHandlerAdapter {

    @Override
    public void channelRead(ChannelHandlerContext context, Object accepted) {
      ((Channel) accepted).pipeline().addFirst(new AcceptingProof());
      context.fireChannelRead(accepted);
    }
  }

  /** Handles a connection until it is proved; until then it passes nothing to later handlers. */
  private abstract class Proof extends ChannelDuplexHandler {

    private final Handshake handshake;
    private byte[] message;
    private int received;

    Proof(Handshake handshake) {
      this.handshake = handshake;
      expect();
    }

    private void expect() {
      message = new byte[handshake.expectedBytes()];
      received = 0;
    }

    /**
     * Reports to the handlers after this one that the connection is there; this one is removed
     * then.
     */
    abstract void onProved(ChannelHandlerContext context);

    abstract void onRefused(ChannelHandlerContext context, Handshake.RefusedException why);

    @Override
    public void channelActive(ChannelHandlerContext context) {
      byte[] opening = handshake.opening();
      if (opening.length > 0) {
        context.writeAndFlush(Unpooled.wrappedBuffer(opening));
      }
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object data) {
      ByteBuf bytes = (ByteBuf) data;
      try {
        while (bytes.isReadable() && !handshake.proved() && context.channel().isActive()) {
          take(context, bytes);
        }
        if (handshake.proved()) {
          onProved(context);
          context.pipeline().remove(this);
          if (bytes.isReadable()) {
            context.fireChannelRead(bytes.retain());
          }
        }
      } finally {
        ReferenceCountUtil.release(bytes);
      }
    }

    private void take(ChannelHandlerContext context, ByteBuf bytes) {
      int count = Math.min(bytes.readableBytes(), message.length - received);
      bytes.readBytes(message, received, count);
      received += count;
      if (received < message.length) {
        return;
      }
      try {
        byte[] reply = handshake.take(message);
        if (reply.length > 0) {
          context.writeAndFlush(Unpooled.wrappedBuffer(reply));
        }
        expect();
      } catch (Handshake.RefusedException why) {
        onRefused(context, why);
        context.close();
      }
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
      // No data was read for later handlers.
    }
  }

  /**
   * Proves an accepted connection. Vert.x's own handler, which sets up TLS and the connection of
   * the event bus, is taken out of the pipeline before it is called, and put back after the proof:
   * an unproved connection costs neither.
   */
  private final class AcceptingProof extends Proof implements ConnectionGuard.Unproved {

    private Channel channel;
    private ChannelHandler setup;

    AcceptingProof() {
      super(guard.accepting());
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      channel = context.channel();
      setup = channel.pipeline().removeLast();
      guard.add(this);
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
      guard.remove(this);
    }

    @Override
    public void close() {
      channel.close();
    }

    @Override
    void onProved(ChannelHandlerContext context) {
      channel.pipeline().addLast(setup);
      context.fireChannelActive();
    }

    @Override
    void onRefused(ChannelHandlerContext context, Handshake.RefusedException why) {
      guard.refused(channel.remoteAddress(), why.getMessage());
    }

    /** Closes an unproved connection that breaks, without logging it. */
    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable broken) {
      context.close();
    }
  }

  private final class ConnectingProof extends Proof {

    private ChannelPromise connected;

    ConnectingProof() {
      super(guard.connecting());
    }

    @Override
    public void connect(
        ChannelHandlerContext context,
        SocketAddress remote,
        SocketAddress local,
        ChannelPromise promise) {
      if (!isNode.test(remote)) {
        context.pipeline().remove(this);
        context.connect(remote, local, promise);
        return;
      }
      connected = promise;
      context
          .connect(remote, local)
          .addListener(
              (ChannelFuture plainly) -> {
                if (!plainly.isSuccess()) {
                  promise.tryFailure(plainly.cause());
                }
              });
      context
          .executor()
          .schedule(
              () ->
                  fail(context, "no proof of the secret within " + ConnectionGuard.SECONDS + " s"),
              ConnectionGuard.SECONDS,
              TimeUnit.SECONDS);
    }

    private void fail(ChannelHandlerContext context, String why) {
      if (connected.tryFailure(new Handshake.RefusedException(why))) {
        context.close();
      }
    }

    @Override
    void onProved(ChannelHandlerContext context) {
      connected.trySuccess();
      context.fireChannelActive();
    }

    @Override
    void onRefused(ChannelHandlerContext context, Handshake.RefusedException why) {
      guard.refusedBy(context.channel().remoteAddress(), why.getMessage());
      connected.tryFailure(why);
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) throws Exception {
      connected.tryFailure(
          new Handshake.RefusedException("the connection was closed before it was proved"));
      super.channelInactive(context);
    }
  }

  @Override
  public String name() {
    return plainly.name();
  }

  @Override
  public boolean available() {
    return true;
  }

  @Override
  public Throwable unavailabilityCause() {
    return null;
  }

  @Override
  public Transport implementation() {
    return this;
  }

  @Override
  public boolean supportsDomainSockets() {
    return plain.supportsDomainSockets();
  }

  @Override
  public SocketAddress convert(io.vertx.core.net.SocketAddress address) {
    return plain.convert(address);
  }

  @Override
  public io.vertx.core.net.SocketAddress convert(SocketAddress address) {
    return plain.convert(address);
  }

  @Override
  public IoHandlerFactory ioHandlerFactory() {
    return plain.ioHandlerFactory();
  }

  @Override
  public EventLoopGroup eventLoopGroup(int type, int threads, ThreadFactory factory, int ratio) {
    return plain.eventLoopGroup(type, threads, factory, ratio);
  }

  @Override
  public DatagramChannel datagramChannel() {
    return plain.datagramChannel();
  }

  @Override
  @SuppressWarnings("deprecation") // The interface declares it deprecated.
  public DatagramChannel datagramChannel(InternetProtocolFamily family) {
    return plain.datagramChannel(family);
  }

  @Override
  public ChannelFactory<? extends ServerChannel> serverChannelFactory(boolean domainSocket) {
    return plain.serverChannelFactory(domainSocket);
  }

  @Override
  public void configure(DatagramChannel channel, DatagramSocketOptions options) {
    plain.configure(channel, options);
  }

  @Override
  public void configure(
      ClientOptionsBase options, int connectTimeout, boolean domainSocket, Bootstrap bootstrap) {
    plain.configure(options, connectTimeout, domainSocket, bootstrap);
  }
}
