/**
 * Strategies for workers that have data of their own, and reductions and exchanges that withstand
 * some wrong workers.
 */
package io.vertigrad.federated;
