package io.vertigrad.internal.exchange;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.vertigrad.codecs.DataType;
import io.vertigrad.codecs.Tensor;
import java.nio.FloatBuffer;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class TrafficCountersTest {

  private static final int WORKERS = 40;

  private final TrafficCounters traffic = new TrafficCounters();

  @Test
  void shouldCountEachPartnerAndDirectionSeparately() {
    traffic.sent(3, tensor(DataType.FLOAT32, 10));
    traffic.sent(3, tensor(DataType.FLOAT32, 5));
    traffic.sent(0, tensor(DataType.FLOAT16, 10));
    traffic.received(7, tensor(DataType.FLOAT32, 2));

    assertEquals(Map.of(3, 60L, 0, 20L), traffic.sentTo());
    assertEquals(Map.of(7, 8L), traffic.receivedFrom());
    assertEquals(80, traffic.bytesSent());
    assertEquals(20, traffic.bytesSaved());
    assertEquals(8, traffic.bytesReceived());
  }

  @Test
  void shouldKeepTheSumAndAFewNumbersInACompleteGraphOfMany() {
    for (int round = 0; round < 3; round++) {
      for (int partner = 0; partner < WORKERS; partner++) {
        traffic.sent(partner, tensor(DataType.FLOAT32, 1));
      }
    }

    Map<Integer, Long> sent = traffic.sentTo();
    assertEquals(TrafficCounters.NAMED + 1, sent.size());
    assertEquals(12, sent.get(TrafficCounters.NAMED - 1));
    assertEquals(12L * (WORKERS - TrafficCounters.NAMED), sent.get(TrafficCounters.OTHERS));
    assertEquals(12L * WORKERS, traffic.bytesSent());
  }

  @Test
  void shouldSumTrafficByPartner() {
    TrafficCounters round = new TrafficCounters();
    round.sent(1, tensor(DataType.FLOAT32, 1));
    round.received(1, tensor(DataType.BFLOAT16, 1));
    traffic.sent(0, tensor(DataType.FLOAT32, 1));

    traffic.add(round);
    traffic.add(round);

    assertEquals(Map.of(0, 4L, 1, 8L), traffic.sentTo());
    assertEquals(Map.of(1, 4L), traffic.receivedFrom());
  }

  private static Tensor tensor(DataType type, int elements) {
    return Tensor.copyOf(type, FloatBuffer.allocate(elements));
  }
}
