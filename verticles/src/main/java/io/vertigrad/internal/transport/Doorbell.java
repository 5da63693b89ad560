package io.vertigrad.internal.transport;

import io.netty.channel.EventLoop;
import io.netty.channel.IoEventLoop;
import io.netty.channel.IoRegistration;
import io.netty.channel.nio.NioIoOps;
import io.netty.channel.nio.NioSelectableChannelIoHandle;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;

/**
 * A UDP port of the loopback interface at which a reader of message rings waits. An empty datagram
 * wakes it, which any thread of another process sends with one system call.
 *
 * <p>What a datagram contains, and who sent it, does not matter: the reader looks into its rings
 * and finds something or not. A datagram that does not arrive must not matter either, beyond a
 * delay.
 */
final class Doorbell implements AutoCloseable {

  /** Opens a doorbell. */
  @FunctionalInterface
  interface Opener {
    Doorbell open() throws IOException;
  }

  private static final byte[] LOOPBACK = {127, 0, 0, 1};
  private static final int MOST_AT_ONCE = 64;

  private final DatagramChannel channel;
  private final int port;
  private final Ringer self = new Ringer();
  private final ByteBuffer nothing = ByteBuffer.allocateDirect(1);

  /** Opens a port that the system chooses, and rings once: it may be used when that was heard. */
  Doorbell() throws IOException {
    DatagramChannel opened = DatagramChannel.open(StandardProtocolFamily.INET);
    try {
      opened.configureBlocking(false);
      opened.bind(at(0));
      port = ((InetSocketAddress) opened.getLocalAddress()).getPort();
      self.ring(port);
    } catch (IOException none) {
      opened.close();
      throw none;
    }
    channel = opened;
  }

  private static InetSocketAddress at(int port) {
    try {
      return new InetSocketAddress(InetAddress.getByAddress(LOOPBACK), port);
    } catch (UnknownHostException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  int port() {
    return port;
  }

  /** Returns the channel, which is not blocking and readable after it has rung. */
  DatagramChannel channel() {
    return channel;
  }

  /**
   * Takes what has arrived, or a part of very much.
   *
   * @return whether it has rung
   */
  boolean clear() throws IOException {
    int rung = 0;
    while (rung < MOST_AT_ONCE && channel.receive(nothing.clear()) != null) {
      rung++;
    }
    return rung > 0;
  }

  @Override
  public void close() throws IOException {
    self.close();
    channel.close();
  }

  /**
   * Has an event loop answer this doorbell until the doorbell is closed.
   *
   * @param rung called on the event loop each time it has rung, the first time for the ring of its
   *     own; never if this event loop cannot
   */
  void answerOn(EventLoop loop, Runnable rung) {
    if (loop instanceof IoEventLoop able && able.isCompatible(OnLoop.class)) {
      able.register(new OnLoop(rung))
          .addListener(
              done -> {
                if (done.isSuccess()) {
                  ((IoRegistration) done.getNow()).submit(NioIoOps.READ);
                }
              });
    }
  }

  private final class OnLoop extends NioSelectableChannelIoHandle<DatagramChannel> {

    private final Runnable rung;

    OnLoop(Runnable rung) {
      super(channel);
      this.rung = rung;
    }

    @Override
    protected void handle(DatagramChannel readable, SelectionKey key) {
      try {
        clear();
      } catch (IOException closed) {
        return;
      }
      rung.run();
    }

    @Override
    public void close() throws IOException {
      Doorbell.this.close();
    }
  }

  /** Rings the bells of other processes; any thread. */
  static final class Ringer implements AutoCloseable {

    private static final ByteBuffer EMPTY = ByteBuffer.allocateDirect(0);

    private volatile DatagramChannel channel;
    private volatile InetSocketAddress last = at(0);

    /**
     * Rings a doorbell.
     *
     * @return false if that failed
     */
    boolean ring(int port) {
      InetSocketAddress to = last;
      if (to.getPort() != port) {
        to = at(port);
        last = to;
      }
      try {
        // Returns 0 whether it was sent or not. If not, the doorbell is full of others.
        channel().send(EMPTY.duplicate(), to);
        return true;
      } catch (IOException unable) {
        return false;
      }
    }

    private DatagramChannel channel() throws IOException {
      DatagramChannel open = channel;
      return open == null ? open() : open;
    }

    private synchronized DatagramChannel open() throws IOException {
      if (channel == null) {
        DatagramChannel opened = DatagramChannel.open(StandardProtocolFamily.INET);
        opened.configureBlocking(false);
        channel = opened;
      }
      return channel;
    }

    @Override
    public synchronized void close() throws IOException {
      if (channel != null) {
        channel.close();
      }
    }
  }
}
