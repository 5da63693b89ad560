package io.vertigrad.compute.settings;

/**
 * What code outside the settings may ask about a key of the job file, or about a section. A key
 * without a trait may differ between the members of a job, and cannot be changed when a run is
 * resumed.
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
  CHANGEABLE,
  /** A {@link #LOCAL} key that names an address; a text without this trait is a path. */
  ADDRESS,
  /**
   * A {@link #LOCAL} key that is not passed to a started node as a setting: the node gets it in
   * another way, or only the coordinator uses it.
   */
  NOT_PASSED,
  /** Names a job, or says how it is connected, watched and used, not what it trains. */
  OPERATION,
  /** Identifies one run of a job, or follows from the data: nothing that a user sets. */
  OF_RUN,
  /** Every error that the value causes names the key, so other errors need not show the value. */
  NAMED_IN_ERRORS,
  /** Names a part that others may provide, such as a data set; names of jobs contain it. */
  COMPONENT,
  /** May be the path of a model file, which has the same name on all machines. */
  MODEL_FILE
}
