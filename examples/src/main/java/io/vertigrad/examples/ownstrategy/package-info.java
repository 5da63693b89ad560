/** An own strategy: a trimmed mean, which one broken worker cannot spoil. */
package io.vertigrad.examples.ownstrategy;
