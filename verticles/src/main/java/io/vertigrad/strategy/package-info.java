/**
 * How workers' updates combine. A strategy is a plain object for one partition; it knows no bus.
 */
package io.vertigrad.strategy;
