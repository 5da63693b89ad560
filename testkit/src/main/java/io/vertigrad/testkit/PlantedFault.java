package io.vertigrad.testkit;

/** A defect that the simulator's checks have to find, or they would prove nothing. */
enum PlantedFault {
  /** None: what runs in production. */
  NONE,
  /** Servers recognise no update that comes again. */
  NO_DEDUPLICATION,
  /** Servers take updates of whatever incarnation for those of the present one. */
  NO_FENCING,
  /** Workers take some updates for delivered that nobody acknowledged. */
  LOST_ACKNOWLEDGEMENT
}
