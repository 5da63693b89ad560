package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.function.Supplier;

/**
 * Lets a channel read the missing part of a message's body directly to its place, and everything
 * else into the channel's usual buffers.
 *
 * @param usual the channel's own allocator
 * @param place where the next bytes belong, or null; called on the event loop, and only when all
 *     that was read before has been handled
 */
record InPlaceReader(RecvByteBufAllocator usual, Supplier<ByteBuf> place)
    implements RecvByteBufAllocator {

  /**
   * Installs the allocator on a channel. Call it on the channel's event loop; elsewhere, and for
   * other channel types, it does nothing.
   */
  static void on(Channel channel, Supplier<ByteBuf> place) {
    if (channel instanceof NioSocketChannel && channel.eventLoop().inEventLoop()) {
      RecvByteBufAllocator usual = channel.config().getRecvByteBufAllocator();
      channel.config().setRecvByteBufAllocator(new InPlaceReader(usual, place));
    }
  }

  // This handle type is deprecated, but the method to override returns it.
  @SuppressWarnings("deprecation")
  @Override
  public Handle newHandle() {
    return new DelegatingHandle(usual.newHandle()) {
      private ByteBuf last;

      @Override
      public ByteBuf allocate(ByteBufAllocator memory) {
        boolean caughtUp = last == null || last.refCnt() == 0;
        ByteBuf here = caughtUp ? place.get() : null;
        last = here == null ? super.allocate(memory) : here;
        return last;
      }
    };
  }
}
