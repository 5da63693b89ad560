package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.TokenSampler.Sampling;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class TokenSamplerTest {

  private static final int ALL = Integer.MAX_VALUE;

  @Test
  void shouldMoveTheWindowWhenItIsFull() {
    TokenSampler sampler = new TokenSampler(new int[] {9, 1, 2, 3}, 3, 1, new Sampling(0, ALL, 1));

    assertArrayEquals(new float[] {1, 2, 3}, sampler.window());
    assertEquals(2, sampler.next(new float[] {0.1f, 0.2f, 0.7f}));
    assertArrayEquals(new float[] {2, 3, 2}, sampler.window());
  }

  @Test
  void shouldReadTheOutputsOfTheLastTokenWhenThePromptIsShorterThanTheWindow() {
    TokenSampler sampler = new TokenSampler(new int[] {1}, 3, 3, new Sampling(0, ALL, 1));
    float[] outputs = {0, 1, 1, 0, 0.4f, 0.6f};

    assertArrayEquals(new float[] {1, 0, 0}, sampler.window());
    assertEquals(1, sampler.next(outputs));
    assertArrayEquals(new float[] {1, 1, 0}, sampler.window());
    assertEquals(0, sampler.next(outputs));
    assertArrayEquals(new float[] {1, 1, 0}, sampler.window());
    assertEquals(1, sampler.next(outputs));
    assertArrayEquals(new float[] {1, 0, 1}, sampler.window());
  }

  @Test
  void shouldDrawTokensAsOftenAsTheirProbabilitiesSay() {
    float[] outputs = {0.5f, 0.2f, 0.3f};

    assertShares(drawn(new Sampling(1, ALL, 3), outputs), 0.5, 0.2, 0.3);
    double sum = 0.25 + 0.04 + 0.09;
    assertShares(drawn(new Sampling(0.5, ALL, 3), outputs), 0.25 / sum, 0.04 / sum, 0.09 / sum);
    assertShares(drawn(new Sampling(1, 2, 3), outputs), 0.5 / 0.8, 0, 0.3 / 0.8);
  }

  @Test
  void shouldDrawAmongTheMostProbableWhenSomeAreEqual() {
    float[] outputs = {0.2f, 0.2f, 0.1f, 0.3f, 0.2f};

    assertEquals(Set.of(3), distinct(new Sampling(5, 1, 1), outputs));
    assertEquals(Set.of(0, 1, 3), distinct(new Sampling(5, 3, 1), outputs));
    assertEquals(Set.of(0, 1, 2, 3, 4), distinct(new Sampling(5, 5, 1), outputs));
  }

  @Test
  void shouldRepeatATextWhenTheSeedIsTheSame() {
    float[] outputs = {0.5f, 0.2f, 0.3f};

    int[] first = drawn(new Sampling(1, ALL, 7), outputs);

    assertArrayEquals(first, drawn(new Sampling(1, ALL, 7), outputs));
    assertNotEquals(
        Arrays.toString(first), Arrays.toString(drawn(new Sampling(1, ALL, 8), outputs)));
  }

  @Test
  void shouldRefuseAPromptWhenItIsTooShort() {
    Sampling sampling = new Sampling(1, ALL, 1);

    String next =
        assertThrows(DataException.class, () -> new TokenSampler(new int[2], 3, 1, sampling))
            .getMessage();
    String each =
        assertThrows(DataException.class, () -> new TokenSampler(new int[0], 3, 3, sampling))
            .getMessage();

    assertEquals(
        "has 2 tokens, expected at least the 3 that the model takes (data.length, with data.predict next)",
        next);
    assertEquals("has 0 tokens, expected at least 1", each);
    assertThrows(IllegalArgumentException.class, () -> new Sampling(Double.NaN, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new Sampling(1, 0, 1));
  }

  private static int[] drawn(Sampling sampling, float[] outputs) {
    TokenSampler sampler = new TokenSampler(new int[1], 1, 1, sampling);
    return IntStream.range(0, 10_000).map(i -> sampler.next(outputs)).toArray();
  }

  private static Set<Integer> distinct(Sampling sampling, float[] outputs) {
    return Arrays.stream(drawn(sampling, outputs))
        .boxed()
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static void assertShares(int[] tokens, double... shares) {
    for (int k = 0; k < shares.length; k++) {
      int token = k;
      long count = Arrays.stream(tokens).filter(drawn -> drawn == token).count();
      assertEquals(shares[k], count / (double) tokens.length, shares[k] == 0 ? 0 : 0.02);
    }
  }
}
