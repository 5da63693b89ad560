package io.vertigrad.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ReadmeLineTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "version 200  accuracy 90.00 %  loss 0.3260|version 200  accuracy 90.00 %  loss 0.3260|true|true",
        "version 200  accuracy 90.00 %  loss 0.3260|version 200  accuracy 90.00 %  loss 0.3261|true|false",
        "version 200  accuracy 90.00 %  loss 0.3260|version 200  accuracy 91.90 %  loss 0.3357|false|true",
        "version 200  accuracy 90.00 %  loss 0.3260|version 200  accuracy 92.10 %  loss 0.3260|false|false",
        "version 200  accuracy 90.00 %  loss 0.3260|version 200  accuracy 90.00 %  loss 0.3359|false|false",
        "version 200  accuracy 90.00 %  loss 0.3260|version 199  accuracy 90.00 %  loss 0.3260|false|false",
        "640 samples in 1.9 s: 9 samples/s|640 samples in 12.1 s: 9,591 samples/s|true|true",
        "640 samples in 1.9 s: 9 samples/s|641 samples in 1.9 s: 9 samples/s|false|false",
        "640 samples in 1.9 s: 9 samples/s|640 samples in 1.9 s|true|false",
        "saved runs/20261123-054518-own: a|saved runs/20270101-000000-own: a|true|true",
        "saved runs/20261123-054518-own: a|saved runs/20270101-000000-own: a, b|true|false",
        "trimmed-mean  92.0 % right on 1000|trimmed-mean  91.7 % right on 1000|false|true",
        "trimmed-mean  92.0 % right on 1000|trimmed-mean  89.7 % right on 1000|false|false",
        "sync           9.5 % right on 1000|sync          54.6 % right on 1000|false|true",
        "\"parametersHash\" : \"13f9ada2f97d28f5\"|\"parametersHash\" : \"8e679363bd1137a8\"|false|true",
        "\"parametersHash\" : \"13f9ada2f97d28f5\"|\"parametersHash\" : \"8e679363bd1137a8\"|true|false",
        "\"parametersHash\" : \"13f9ada2f97d28f5\"|\"parametersHash\" : \"\"|false|false"
      })
  void shouldCompareEverythingWithTheReadmeExceptTimesAndKernelDigits(
      String readme, String printed, boolean exact, boolean same) {
    assertEquals(same, ReadmeLine.difference(readme, printed, exact).isEmpty());
  }
}
