package io.vertigrad.internal.transport;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.ExchangeId;
import io.vertigrad.codecs.Frame;
import io.vertigrad.codecs.FrameCodecs;
import io.vertigrad.codecs.PeerPartition;
import io.vertigrad.codecs.Tensor;
import io.vertigrad.codecs.TensorMemory;
import io.vertigrad.codecs.TensorView;
import io.vertigrad.internal.transport.StreamMessage.Kind;
import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StreamMessageReaderTest {

  private static final Frame FRAME = frame(1, 2, 3);

  private final List<StreamMessage> messages = new ArrayList<>();
  private final List<String> faults = new ArrayList<>();
  private final StreamMessageReader reader =
      new StreamMessageReader(messages::add, faults::add, false);

  @Test
  void shouldWriteTheDocumentedBytes() {
    ByteBuf bytes = StreamMessage.of(Kind.FAILURE, 0x0102030405060708L, "no", memory());

    assertEquals("02000000" + "03000000" + "0807060504030201" + "6e6f", ByteBufUtil.hexDump(bytes));
  }

  @Test
  void shouldWriteTheSameBytesForEveryMemoryOfATensor() {
    TensorMemory tensors = new TensorMemory();
    TensorView outside = tensors.copyOf(DataType.FLOAT32, FloatBuffer.wrap(new float[] {1, 2, 3}));
    PeerPartition heap = (PeerPartition) FRAME;

    ByteBuf bytes =
        StreamMessage.of(
            Kind.REQUEST,
            7,
            FrameCodecs.encode(new PeerPartition(heap.id(), heap.layout(), heap.phase(), outside)),
            memory());

    assertTrue(bytes.isDirect(), "a socket writes it without another copy");
    assertEquals(
        ByteBufUtil.hexDump(StreamMessage.of(Kind.REQUEST, 7, FrameCodecs.encode(FRAME), memory())),
        ByteBufUtil.hexDump(bytes));
    tensors.giveBack(outside);
  }

  @Test
  void shouldSendItsFormatInTheFirstMessage() {
    ByteBuf bytes = StreamMessage.of(Kind.OPEN, StreamMessage.FORMAT, "a", memory());

    assertEquals("VGSTRM03", bytes.toString(8, 8, java.nio.charset.StandardCharsets.US_ASCII));
  }

  @Test
  void shouldReadTheSameMessagesForAnyFragmentation() {
    byte[] stream = stream();
    for (int cut = 0; cut <= stream.length; cut++) {
      messages.clear();
      StreamMessageReader fresh = new StreamMessageReader(messages::add, faults::add, false);
      fresh.read(Unpooled.wrappedBuffer(stream, 0, cut));
      fresh.read(Unpooled.wrappedBuffer(stream, cut, stream.length - cut));

      assertMessages();
    }
    assertEquals(List.of(), faults);
  }

  @Test
  void shouldReadTheSameMessagesByteByByte() {
    for (byte one : stream()) {
      reader.read(Unpooled.wrappedBuffer(new byte[] {one}));
    }

    assertMessages();
  }

  @Test
  void shouldLendOneBodyAfterTheOther() {
    List<TensorView> lent = new ArrayList<>();
    List<TensorView> kept = new ArrayList<>();
    StreamMessageReader lending =
        new StreamMessageReader(
            message -> {
              TensorView tensor = ((PeerPartition) message.frame()).tensor();
              lent.add(tensor);
              kept.add(tensor.retain());
            },
            faults::add,
            true);

    lending.read(StreamMessage.of(Kind.REQUEST, 1, FrameCodecs.encode(frame(1, 2, 3)), memory()));
    lending.read(StreamMessage.of(Kind.REQUEST, 2, FrameCodecs.encode(frame(4, 5)), memory()));
    lending.read(StreamMessage.of(Kind.REQUEST, 3, FrameCodecs.encode(frame(6, 7, 8)), memory()));

    assertEquals(
        List.of(Tensor.ofFloats(1, 2, 3), Tensor.ofFloats(4, 5), Tensor.ofFloats(6, 7, 8)), kept);
    assertEquals(kept.get(2), lent.get(0), "the memory of the first is the third's");
  }

  @Test
  void shouldReadTheSameMessagesForAnyAmountReadInPlace() {
    byte[] stream = stream();
    for (int most = 1; most <= stream.length; most++) {
      messages.clear();
      List<Frame> kept = new ArrayList<>();
      StreamMessageReader lending =
          new StreamMessageReader(message -> keep(message, kept), faults::add, true);
      int places = 0;
      for (int at = 0; at < stream.length; ) {
        ByteBuf bodyBuffer = lending.bodyBuffer();
        places += bodyBuffer == null ? 0 : 1;
        ByteBuf piece = bodyBuffer == null ? Unpooled.buffer(most, most) : bodyBuffer;
        int length = Math.min(Math.min(most, piece.writableBytes()), stream.length - at);
        lending.read(piece.writeBytes(stream, at, length));
        piece.release();
        at += length;
      }

      assertEquals(List.of(Kind.PING, Kind.REQUEST, Kind.ANSWER), kinds());
      assertEquals(List.of(FRAME), kept);
      assertTrue(places > 0 || most > StreamMessage.HEADER_BYTES, "nothing was read in place");
    }
  }

  @Test
  void shouldOfferNoPlaceBetweenBodies() {
    ByteBuf head =
        StreamMessage.of(Kind.REQUEST, 1, FrameCodecs.encode(FRAME), memory()).writerIndex(20);
    StreamMessageReader lending = new StreamMessageReader(messages::add, faults::add, true);

    assertNull(lending.bodyBuffer());
    lending.read(head.duplicate());
    reader.read(head.duplicate());

    assertNull(reader.bodyBuffer());
    assertEquals(FrameCodecs.encode(FRAME).length() - 4, lending.bodyBuffer().writableBytes());
  }

  @Test
  void shouldRefuseALengthBeforeItAllocates() {
    reader.read(Unpooled.wrappedBuffer(header(Integer.MAX_VALUE, Kind.ANSWER.ordinal())));

    assertEquals(List.of("ANSWER of 2147483647 bytes, expected 0 to 523776"), faults);
  }

  @Test
  void shouldRefuseANegativeLengthAndAnUnknownKind() {
    reader.read(Unpooled.wrappedBuffer(header(-1, Kind.PING.ordinal())));
    new StreamMessageReader(messages::add, faults::add, false)
        .read(Unpooled.wrappedBuffer(header(0, Kind.WAKE.ordinal() + 1)));

    assertEquals(
        List.of(
            "PING of 4294967295 bytes, expected 0 to 0", "a message of kind 15, expected 0 to 14"),
        faults);
  }

  @Test
  void shouldRefuseAMessageOfAnotherKindBeforeItAllocatesWhenOneIsExpected() {
    reader.expect(Kind.OPEN);

    reader.read(Unpooled.wrappedBuffer(header(500_000, Kind.REQUEST.ordinal())));

    assertEquals(List.of("REQUEST before the stream was opened, expected OPEN"), faults);
    assertFalse(reader.isInside() && reader.bodyBuffer() != null);
  }

  @Test
  void shouldReadNothingAfterAFault() {
    reader.read(Unpooled.wrappedBuffer(header(1, Kind.PING.ordinal()), stream()));

    assertEquals(List.of(), messages);
    assertEquals(1, faults.size());
  }

  @Test
  void shouldNeverThrowForAnyInput() {
    Random random = new Random(5);
    for (int trial = 0; trial < 2_000; trial++) {
      byte[] stream = stream();
      for (int change = 0; change < 3; change++) {
        stream[random.nextInt(stream.length)] = (byte) random.nextInt();
      }
      new StreamMessageReader(
              message -> {
                message.text();
                message.frame();
              },
              faults::add,
              false)
          .read(Unpooled.wrappedBuffer(stream));
    }
  }

  private void keep(StreamMessage message, List<Frame> kept) {
    messages.add(message);
    if (message.frame() instanceof PeerPartition lent) {
      kept.add(new PeerPartition(lent.id(), lent.layout(), lent.phase(), lent.tensor().retain()));
    }
  }

  private List<Kind> kinds() {
    return messages.stream().map(StreamMessage::kind).toList();
  }

  private void assertMessages() {
    assertEquals(3, messages.size());
    assertEquals(Kind.PING, messages.get(0).kind());
    assertEquals(Kind.REQUEST, messages.get(1).kind());
    assertEquals(9, messages.get(1).number());
    assertEquals(FRAME, messages.get(1).frame());
    assertEquals(Kind.ANSWER, messages.get(2).kind());
    assertNull(messages.get(2).frame());
    assertFalse(messages.get(2).body().hasRemaining());
  }

  private static Frame frame(float... elements) {
    return new PeerPartition(new ExchangeId(1, 2, 3, 4, 5, 6), 7, 0, Tensor.ofFloats(elements));
  }

  private static byte[] stream() {
    ByteBuf all =
        Unpooled.wrappedBuffer(
            StreamMessage.of(Kind.PING, 0, memory()),
            StreamMessage.of(Kind.REQUEST, 9, FrameCodecs.encode(FRAME), memory()),
            StreamMessage.of(Kind.ANSWER, 9, memory()));
    return ByteBufUtil.getBytes(all);
  }

  private static byte[] header(int length, int kind) {
    return ByteBufUtil.getBytes(
        Unpooled.buffer().writeIntLE(length).writeIntLE(kind).writeLongLE(0));
  }

  private static UnpooledByteBufAllocator memory() {
    return UnpooledByteBufAllocator.DEFAULT;
  }
}
