package io.vertigrad.federated;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PrivacyAccountantTest {

  /** Published with TensorFlow Privacy: rdp_accountant_test, test_compute_rdp_scalar. */
  @Test
  void shouldGivePublishedDivergenceWhenTenRoundsAreSampled() {
    assertEquals(0.07737, 10 * PrivacyAccountant.divergence(0.1, 2, 5), 5e-6);
  }

  /** Published with TensorFlow Privacy: rdp_accountant_test, test_compute_rdp_sequence. */
  @ParameterizedTest
  @CsvSource({"1.5, 0.00065", "2.5, 0.001085", "5, 0.00218075", "50, 0.023846", "100, 167.416307"})
  void shouldGivePublishedDivergenceWhenFiftyRoundsAreSampled(double order, double expected) {
    assertEquals(expected, 50 * PrivacyAccountant.divergence(0.01, 2.5, order), 1e-5);
  }

  /** Published with TensorFlow Privacy: test_get_privacy_spent_check_target_delta. */
  @Test
  void shouldGivePublishedEpsilonWhenDivergenceIsGiven() {
    assertEquals(1.32783806176, PrivacyAccountant.epsilon(1.1, 32, 1e-5), 1e-10);
  }

  /**
   * The tutorial of TensorFlow Privacy has 60,000 samples, batches of 256, noise 1.12 and 14,063
   * steps: epsilon 2.92 for 1e-5 at order 9, by the older conversion. The newer one needs less.
   */
  @Test
  void shouldReachPublishedEpsilonWhenOlderConversionIsUsed() {
    double rate = 256 / 60_000.0;
    double divergence = 14_063 * PrivacyAccountant.divergence(rate, 1.12, 9);

    assertEquals(2.92, divergence + Math.log(1e5) / 8, 0.005);
    double epsilon = new PrivacyAccountant(1.12, rate).epsilon(14_063, 1e-5);
    assertTrue(epsilon < 2.92 && epsilon > 2.4, "epsilon " + epsilon);
  }

  /** Published with TensorFlow Privacy: this scale is exactly (1, 1e-6) with fine orders. */
  @Test
  void shouldGivePublishedEpsilonWhenNobodyIsSampled() {
    PrivacyAccountant accountant = new PrivacyAccountant(4.530877117, 1);

    assertEquals(1, accountant.epsilon(1, 1e-6), 1e-4);
    assertEquals(1e-6, accountant.delta(1, 1), 1e-9);
  }

  @ParameterizedTest
  @CsvSource({
    "1e-7, 0.1, 1.01",
    "1e-4, 1, 1.5",
    "1e-3, 1, 2",
    "0.01, 1, 3.3",
    "0.01, 10, 20",
    "0.1, 100, 20.5",
    "0.1, 1.1, 5.7",
    "0.25, 0.8, 2.1",
    "0.5, 2, 8",
    "0.5, 2, 8.5",
    "0.9, 3, 1.1",
    "0.999, 100, 56.1"
  })
  void shouldEqualQuadratureWhenMomentIsIntegrated(double rate, double sigma, double order) {
    double expected = Math.log1p(momentAboveOne(rate, sigma, order)) / (order - 1);

    double divergence = PrivacyAccountant.divergence(rate, sigma, order);

    assertEquals(expected, divergence, 1e-5 * expected + 1e-13);
  }

  /**
   * Integrates {@code E[r^a - 1 - a (r - 1)]} over {@code x ~ N(0, sigma^2)} with Simpson's rule,
   * for {@code r = 1 - q + q exp((2x - 1) / (2 sigma^2))}. The term {@code a (r - 1)} has the
   * expectation 0; without it little of a small moment would be left.
   */
  private static double momentAboveOne(double rate, double sigma, double order) {
    double low = -12 * sigma;
    double high = 12 * sigma + order;
    int intervals = 20_000;
    double width = (high - low) / intervals;
    double sum = 0;
    for (int i = 0; i <= intervals; i++) {
      double x = low + i * width;
      double ratio = rate * Math.expm1((2 * x - 1) / (2 * sigma * sigma));
      double density = Math.exp(-x * x / (2 * sigma * sigma)) / (sigma * Math.sqrt(2 * Math.PI));
      double value = Math.expm1(order * Math.log1p(ratio)) - order * ratio;
      double weight = i == 0 || i == intervals ? 1 : i % 2 == 0 ? 2 : 4;
      sum += density == 0 ? 0 : weight * density * value;
    }
    return sum * width / 3;
  }

  /** The moments of fractional orders lie between those of the whole orders beside them. */
  @ParameterizedTest
  @CsvSource({"0.01, 1", "0.1, 0.7", "0.5, 4", "0.99, 2"})
  void shouldGrowWithOrderWhenOrdersAreMixed(double rate, double sigma) {
    double last = 0;
    for (int tenths = 11; tenths < 150; tenths++) {
      double divergence = PrivacyAccountant.divergence(rate, sigma, tenths / 10.0);
      assertTrue(divergence > last, "order " + tenths / 10.0);
      last = divergence;
    }
  }

  /** B. Balle, Y. Wang, Improving the Gaussian Mechanism, 2018, theorem 8: the exact delta. */
  @ParameterizedTest
  @CsvSource({"1, 0.5", "1, 2", "2, 0.3", "4, 0.5", "0.8, 4"})
  void shouldBeAboveExactDeltaWhenOneRoundIsSeen(double sigma, double epsilon) {
    double above = epsilon * sigma - 1 / (2 * sigma);
    double exact =
        Math.exp(PrivacyAccountant.logUpperTail(above))
            - Math.exp(epsilon + PrivacyAccountant.logUpperTail(above + 1 / sigma));

    double delta = new PrivacyAccountant(sigma, 1).delta(1, epsilon);

    assertTrue(delta >= exact && delta < 20 * exact, delta + " against " + exact);
  }

  @Test
  void shouldNeedLessWhenWorkersAreSampledOrNoiseGrows() {
    double all = new PrivacyAccountant(1, 1).epsilon(100, 1e-5);

    assertTrue(new PrivacyAccountant(1, 0.1).epsilon(100, 1e-5) < all / 4);
    assertTrue(new PrivacyAccountant(2, 1).epsilon(100, 1e-5) < all / 2);
    assertTrue(new PrivacyAccountant(1, 1).epsilon(200, 1e-5) > all);
    assertEquals(all, new PrivacyAccountant(1, 1 - 1e-12).epsilon(100, 1e-5), 1e-6 * all);
  }

  @Test
  void shouldReturnGivenDeltaWhenEpsilonIsConvertedBack() {
    PrivacyAccountant accountant = new PrivacyAccountant(1.1, 0.05);
    double epsilon = accountant.epsilon(500, 1e-5);

    assertEquals(1e-5, accountant.delta(500, epsilon), 1e-12);
  }

  @Test
  void shouldPromiseNothingWhenThereIsNoNoise() {
    PrivacyAccountant accountant = new PrivacyAccountant(0, 0.5);

    assertEquals(Double.POSITIVE_INFINITY, accountant.epsilon(1, 1e-5));
    assertEquals(1, accountant.delta(1, 3));
    assertEquals(0, accountant.epsilon(0, 1e-5));
  }

  /** Abramowitz and Stegun, table 26.1 and 26.2. */
  @ParameterizedTest
  @CsvSource({
    "0, 0.5",
    "1, 0.158655253931457",
    "-1, 0.841344746068543",
    "2.5, 0.00620966532577613",
    "3.5, 0.000232629079035525",
    "10, 7.61985302416053e-24"
  })
  void shouldGiveTabledTailWhenNormalIsIntegrated(double x, double expected) {
    assertEquals(expected, Math.exp(PrivacyAccountant.logUpperTail(x)), 1e-11 * expected);
  }

  @Test
  void shouldRefuseArgumentsWhenTheyHaveNoMeaning() {
    assertThrows(IllegalArgumentException.class, () -> new PrivacyAccountant(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> new PrivacyAccountant(1, 0));
    assertThrows(IllegalArgumentException.class, () -> new PrivacyAccountant(1, 1.1));
    PrivacyAccountant accountant = new PrivacyAccountant(1, 1);
    assertThrows(IllegalArgumentException.class, () -> accountant.epsilon(-1, 1e-5));
    assertThrows(IllegalArgumentException.class, () -> accountant.epsilon(1, 0));
    assertThrows(IllegalArgumentException.class, () -> accountant.delta(1, Double.NaN));
  }
}
