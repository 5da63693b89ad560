/**
 * Loads a coordinator with many members; in this package because its requests and decisions are
 * visible in it only.
 */
package io.vertigrad.internal.membership;
