/** Contracts for strategies, a simulated network, small jobs, runs that are killed. */
module io.vertigrad.testkit {
  requires transitive io.vertigrad.verticles;
  requires transitive org.junit.jupiter.api;

  exports io.vertigrad.testkit;
  exports io.vertigrad.testkit.attack;
  exports io.vertigrad.testkit.chaos;

  provides io.vertigrad.compute.Engine with
      io.vertigrad.testkit.QuadraticEngine;
  provides io.vertigrad.compute.data.DatasetProvider with
      io.vertigrad.testkit.PacedData,
      io.vertigrad.testkit.PointsProvider;
  provides org.junit.jupiter.api.extension.Extension with
      io.vertigrad.testkit.TensorLeakCheck;
}
