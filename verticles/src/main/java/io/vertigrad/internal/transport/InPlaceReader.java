package io.vertigrad.internal.transport;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.Channel;
import io.netty.channel.RecvByteBufAllocator;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.util.function.Supplier;

/**
 * Has a channel read what is missing of a message's body to where it belongs, and everything else
 * as it does by itself.
 *
 * @param usual the channel's own way
 * @param place where the next bytes belong, or null; asked on the event loop, and only when all
 *     that was read before has been dealt with
 */
record InPlaceReader(RecvByteBufAllocator usual, Supplier<ByteBuf> place)
    implements RecvByteBufAllocator {

  /** To be called by whoever deals with what is read; does nothing where that is too far away. */
  static void on(Channel channel, Supplier<ByteBuf> place) {
    if (channel instanceof NioSocketChannel && channel.eventLoop().inEventLoop()) {
      RecvByteBufAllocator usual = channel.config().getRecvByteBufAllocator();
      channel.config().setRecvByteBufAllocator(new InPlaceReader(usual, place));
    }
  }

  // The older of two handle types, but the one that the method to override returns.
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
