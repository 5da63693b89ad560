package io.vertigrad.compute.settings;

/**
 * Part of the scope of a key of the job file. A key without a trait may differ between the members
 * of a job, and cannot be changed when a run is resumed.
 */
public enum KeyTrait {
  /** All members of a job must have the same value; a member with another one is refused. */
  AGREED,
  /**
   * A path or address that is valid on one machine only. No member sends it to another machine; the
   * command that is printed for one has it as an option to adapt.
   */
  LOCAL,
  /** May be changed when a run is resumed, because it does not affect what is trained. */
  CHANGEABLE
}
