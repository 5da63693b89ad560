/**
 * The built-in strategies: parameter-server rules, and rules by which workers exchange among
 * themselves.
 */
package io.vertigrad.strategies;
