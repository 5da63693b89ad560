/** A strategy from outside: trimmed-mean gather, which one broken worker cannot spoil. */
package io.vertigrad.examples.ownstrategy;
