/**
 * Strategies for workers that have data of their own, and reductions that withstand some wrong
 * updates.
 */
package io.vertigrad.federated;
