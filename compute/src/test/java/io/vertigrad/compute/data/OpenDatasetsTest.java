package io.vertigrad.compute.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.vertigrad.compute.data.DatasetProvider.Split;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Tests that members of one JVM share a data set, but not different splits or options. */
final class OpenDatasetsTest {

  private final ClassLoader loader = getClass().getClassLoader();

  @Test
  void shouldShareOneCopyWhenTheSameSplitIsOpenedTwice() {
    Dataset first = DatasetProvider.open(digits(100), Split.TRAIN, loader);
    Dataset second = DatasetProvider.open(digits(100), Split.TRAIN, loader);

    assertSame(first, second);
    assertNotSame(first, DatasetProvider.open(digits(101), Split.TRAIN, loader));
    assertNotSame(first, DatasetProvider.open(digits(100), Split.TEST, loader));
  }

  @Test
  void shouldOpenAgainWhenTheFirstTimeFailed() {
    OpenDatasets open = new OpenDatasets();
    Dataset dataset = DatasetProvider.open(digits(100), Split.TEST, loader);
    assertThrows(
        DataException.class, () -> open.open(digits(1), Split.TEST, loader, this::unreadable));

    Dataset found = open.open(digits(1), Split.TEST, loader, () -> dataset);

    assertEquals(dataset, found);
  }

  /** Nests more data sets than a small map has buckets, so that some of them share one. */
  @Test
  void shouldOpenAnotherWhenItIsDerived() {
    OpenDatasets open = new OpenDatasets();
    Dataset innermost = DatasetProvider.open(digits(100), Split.TEST, loader);

    Dataset found = openNested(open, 100, innermost);

    assertSame(innermost, found);
  }

  @Test
  void shouldMakeTheFingerprintOnceWhileTheDataSetIsInUse() {
    OpenDatasets open = new OpenDatasets();
    Dataset dataset = DatasetProvider.open(digits(100), Split.TEST, loader);
    List<Dataset> hashed = new ArrayList<>();
    Function<Dataset, Optional<DataFingerprint>> making =
        opened -> {
          hashed.add(opened);
          return Optional.of(DataFingerprint.of(opened));
        };

    Optional<DataFingerprint> first =
        open.fingerprint(digits(1), Split.TEST, loader, () -> dataset, making);
    Optional<DataFingerprint> second =
        open.fingerprint(digits(1), Split.TEST, loader, this::unreadable, making);

    assertSame(first, second);
    assertEquals(List.of(dataset), hashed);
  }

  private Dataset openNested(OpenDatasets open, int depth, Dataset innermost) {
    return open.open(
        digits(depth),
        Split.TRAIN,
        loader,
        () -> depth == 1 ? innermost : openNested(open, depth - 1, innermost));
  }

  private Dataset unreadable() {
    throw new DataException("unreadable");
  }

  private static DataConfig digits(int train) {
    return new DataConfig(
        "digits", Optional.empty(), Optional.empty(), Map.of("train", train, "test", 50));
  }
}
