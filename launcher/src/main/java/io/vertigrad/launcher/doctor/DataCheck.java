package io.vertigrad.launcher.doctor;

import io.vertigrad.compute.data.DataConfig;
import io.vertigrad.compute.data.DataException;
import io.vertigrad.compute.data.Dataset;
import io.vertigrad.compute.data.DatasetProvider;
import io.vertigrad.compute.data.DatasetProvider.Split;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Checks that the job's data set opens; downloads nothing. */
final class DataCheck implements Check {

  private final DataConfig data;

  DataCheck(DataConfig data) {
    this.data =
        new DataConfig(
            data.name(), data.directory(), Optional.empty(), data.options(), data.origin());
  }

  @Override
  public List<CheckResult> run() {
    try {
      Dataset test = DatasetProvider.open(data, Split.TEST, getClass().getClassLoader());
      return List.of(
          CheckResult.ok(
              "data",
              String.format(
                  Locale.ROOT,
                  "%s: %,d test samples of shape %s, %d classes",
                  data.name(),
                  test.size(),
                  test.shape(),
                  test.classes())));
    } catch (DataException e) {
      return List.of(CheckResult.fail("data", e.getMessage()));
    }
  }
}
