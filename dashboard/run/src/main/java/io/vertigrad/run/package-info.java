/** The state of a run, its throughput and its ledger of updates, computed from events. */
package io.vertigrad.run;
