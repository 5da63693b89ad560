package io.vertigrad.testkit;

/** A defect that the simulator's checks must find, which shows that the checks work. */
enum PlantedFault {
  /** No defect: the code that runs in production. */
  NONE,
  /** Servers recognise no repeated update. */
  NO_DEDUPLICATION,
  /** Servers accept updates of any incarnation as those of the present one. */
  NO_FENCING,
  /** Workers treat some updates as delivered that no server acknowledged. */
  LOST_ACKNOWLEDGEMENT
}
