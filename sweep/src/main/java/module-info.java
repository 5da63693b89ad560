/** Sweeps: tries many settings of one job, and stops poor trials early. */
module io.vertigrad.sweep {
  requires transitive io.vertigrad.compute;

  exports io.vertigrad.sweep;
}
