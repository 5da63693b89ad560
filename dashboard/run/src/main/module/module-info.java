/** The state of a run, its throughput and its ledger of updates, computed from events. */
module io.vertigrad.run {
  requires transitive io.vertigrad.verticles;

  exports io.vertigrad.run;
}
