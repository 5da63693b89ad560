package io.vertigrad.internal.cluster;

import static com.hazelcast.internal.nio.IOUtil.compactOrClear;

import com.hazelcast.config.Config;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.instance.EndpointQualifier;
import com.hazelcast.instance.impl.DefaultNodeContext;
import com.hazelcast.instance.impl.DefaultNodeExtension;
import com.hazelcast.instance.impl.HazelcastInstanceFactory;
import com.hazelcast.instance.impl.Node;
import com.hazelcast.instance.impl.NodeExtension;
import com.hazelcast.internal.cluster.Joiner;
import com.hazelcast.internal.cluster.impl.TcpIpJoiner;
import com.hazelcast.internal.networking.Channel;
import com.hazelcast.internal.networking.ChannelInitializer;
import com.hazelcast.internal.networking.ChannelOption;
import com.hazelcast.internal.networking.ChannelOptions;
import com.hazelcast.internal.networking.HandlerStatus;
import com.hazelcast.internal.networking.InboundHandler;
import com.hazelcast.internal.networking.OutboundHandler;
import com.hazelcast.internal.server.ServerContext;
import com.hazelcast.internal.server.tcp.UnifiedProtocolDecoder;
import com.hazelcast.internal.server.tcp.UnifiedProtocolEncoder;
import com.hazelcast.spi.properties.ClusterProperty;
import com.hazelcast.spi.properties.HazelcastProperties;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Starts Hazelcast so that every connection proves the cluster's secret first. Before the proof
 * Hazelcast reads no protocol and no packet size, for which it would allocate memory at once.
 *
 * <p>Hazelcast's open-source edition has no TLS and calls no socket interceptor, but it accepts
 * custom channel handlers. Their classes and the joiner's are internal to Hazelcast, so its version
 * is pinned.
 */
final class ProvedHazelcast {

  private ProvedHazelcast() {}

  /** Starts a node; blocks until it has joined or started its cluster. */
  static HazelcastInstance start(Config config, ConnectionGuard guard) {
    return HazelcastInstanceFactory.newHazelcastInstance(
        config,
        config.getInstanceName(),
        new DefaultNodeContext() {
          @Override
          public NodeExtension createNodeExtension(Node node) {
            return new ProvedExtension(node, guard);
          }

          @Override
          public Joiner createJoiner(Node node) {
            return config.getNetworkConfig().getJoin().getTcpIpConfig().isEnabled()
                ? new RetryingJoiner(node)
                : super.createJoiner(node);
          }
        });
  }

  /**
   * Tries to join for as long as the settings allow. Hazelcast's own joiner gives up when
   * connecting to the required member takes more than a second, as it may while either machine is
   * busy.
   */
  private static final class RetryingJoiner extends TcpIpJoiner {

    RetryingJoiner(Node node) {
      super(node);
    }

    @Override
    public void doJoin() {
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(getMaxJoinMillis());
      do {
        super.doJoin();
      } while (shouldRetry() && System.nanoTime() < end);
    }
  }

  private static final class ProvedExtension extends DefaultNodeExtension {

    private static final int KILOBYTE = 1_024;

    private final ConnectionGuard guard;

    ProvedExtension(Node node, ConnectionGuard guard) {
      super(node);
      this.guard = guard;
    }

    @Override
    public Function<EndpointQualifier, ChannelInitializer> createChannelInitializerFn(
        ServerContext server) {
      return endpoint ->
          channel -> {
            setOptions(channel.options(), server.properties());
            Proof proof = new Proof(channel, guard, server, this::endJoining);
            channel.outboundPipeline().addLast(proof.outbound);
            channel.inboundPipeline().addLast(proof.inbound);
          };
    }

    /**
     * Stops joining when this node's secret is refused, so that it fails at once and not after half
     * a minute of attempts.
     */
    private void endJoining() {
      if (!node.getClusterService().isJoined()) {
        Thread end = new Thread(() -> node.shutdown(true), "end-joining");
        end.setDaemon(true);
        end.start();
      }
    }

    /** The options that Hazelcast's UnifiedChannelInitializer sets. */
    private static void setOptions(ChannelOptions options, HazelcastProperties set) {
      options
          .setOption(ChannelOption.DIRECT_BUF, set.getBoolean(ClusterProperty.SOCKET_BUFFER_DIRECT))
          .setOption(ChannelOption.TCP_NODELAY, set.getBoolean(ClusterProperty.SOCKET_NO_DELAY))
          .setOption(ChannelOption.SO_KEEPALIVE, set.getBoolean(ClusterProperty.SOCKET_KEEP_ALIVE))
          .setOption(
              ChannelOption.SO_SNDBUF,
              set.getInteger(ClusterProperty.SOCKET_SEND_BUFFER_SIZE) * KILOBYTE)
          .setOption(
              ChannelOption.SO_RCVBUF,
              set.getInteger(ClusterProperty.SOCKET_RECEIVE_BUFFER_SIZE) * KILOBYTE)
          .setOption(ChannelOption.SO_LINGER, set.getSeconds(ClusterProperty.SOCKET_LINGER_SECONDS))
          .setOption(ChannelOption.TCP_KEEPIDLE, set.getInteger(ClusterProperty.SOCKET_KEEP_IDLE))
          .setOption(ChannelOption.TCP_KEEPCOUNT, set.getInteger(ClusterProperty.SOCKET_KEEP_COUNT))
          .setOption(
              ChannelOption.TCP_KEEPINTERVAL, set.getInteger(ClusterProperty.SOCKET_KEEP_INTERVAL));
    }
  }

  /** A connection until it is proved; its two halves run on two threads of Hazelcast. */
  private static final class Proof implements ConnectionGuard.Unproved {

    private final Channel channel;
    private final ConnectionGuard guard;
    private final Runnable onRefusal;
    private final Handshake handshake;
    private final Queue<byte[]> replies = new ConcurrentLinkedQueue<>();
    private final Inbound inbound = new Inbound();
    private final Outbound outbound = new Outbound();
    private final UnifiedProtocolEncoder encoder;
    private final UnifiedProtocolDecoder decoder;
    private volatile boolean proved;

    Proof(Channel channel, ConnectionGuard guard, ServerContext server, Runnable onRefusal) {
      this.channel = channel;
      this.guard = guard;
      this.onRefusal = onRefusal;
      this.encoder = new UnifiedProtocolEncoder(server);
      this.decoder = new UnifiedProtocolDecoder(server, encoder);
      // The decoder may signal the encoder before the other thread has installed the encoder.
      encoder.setChannel(channel);
      if (channel.isClientMode()) {
        handshake = guard.connecting();
        replies.add(handshake.opening());
      } else {
        handshake = guard.accepting();
        guard.add(this);
        channel.addCloseListener(closed -> guard.remove(this));
      }
    }

    @Override
    public void close() {
      try {
        channel.close();
      } catch (IOException e) {
        // The connection is of no further use, closed or not.
      }
    }

    private void take(byte[] message) throws EOFException {
      try {
        byte[] reply = handshake.take(message);
        if (reply.length > 0) {
          replies.add(reply);
        }
      } catch (Handshake.RefusedException why) {
        if (channel.isClientMode()) {
          guard.refusedBy(channel.remoteSocketAddress(), why.getMessage());
          onRefusal.run();
        } else {
          guard.refused(channel.remoteSocketAddress(), why.getMessage());
        }
        // Hazelcast closes a connection at this kind of exception without a stack trace.
        throw new EOFException(why.getMessage());
      }
      if (handshake.proved()) {
        guard.remove(this);
        proved = true;
        channel.inboundPipeline().replace(inbound, decoder);
      }
      channel.outboundPipeline().wakeup();
    }

    private final class Inbound extends InboundHandler<ByteBuffer, Void> {

      @Override
      public void handlerAdded() {
        initSrcBuffer(Handshake.MOST_BYTES);
        src.limit(handshake.expectedBytes());
      }

      @Override
      public HandlerStatus onRead() throws Exception {
        if (src.hasRemaining()) {
          return HandlerStatus.CLEAN;
        }
        byte[] message = new byte[src.flip().remaining()];
        src.get(message);
        take(message);
        // Read no more than the next message, so that what follows the proof stays in the socket.
        src.clear().limit(handshake.expectedBytes());
        return HandlerStatus.CLEAN;
      }
    }

    private final class Outbound extends OutboundHandler<Void, ByteBuffer> {

      @Override
      public void handlerAdded() {
        initDstBuffer(Handshake.MOST_BYTES);
      }

      @Override
      public HandlerStatus onWrite() {
        compactOrClear(dst);
        try {
          // Read this before the queue: when it is true, the last reply is already in the queue.
          boolean last = proved;
          if (dst.position() == 0 && !replies.isEmpty()) {
            dst.put(replies.remove());
          }
          if (dst.position() > 0) {
            return HandlerStatus.DIRTY;
          }
          if (last) {
            channel.outboundPipeline().replace(this, encoder);
            return HandlerStatus.CLEAN;
          }
          // Hazelcast's frames wait; the next reply wakes up this handler.
          return HandlerStatus.BLOCKED;
        } finally {
          dst.flip();
        }
      }
    }
  }
}
