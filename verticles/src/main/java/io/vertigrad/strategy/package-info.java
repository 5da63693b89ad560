/**
 * The API for combining workers' updates. A strategy is a plain object for one partition; it does
 * not use the event bus.
 */
package io.vertigrad.strategy;
